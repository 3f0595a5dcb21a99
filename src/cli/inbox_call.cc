// One request after the other, on a connection of its own each.
#include "cli/inbox_call.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>
#include <fmt/format.h>

#include "cli/keys/admin_call.h"
#include "core/printable.h"
#include "runtime/pause.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::cli {

namespace json = boost::json;

int complain_of_inbox(std::string_view what, int code) {
  fmt::print(stderr, "semel inbox: {}\n", core::printable(what));
  return code;
}

int inbox_code_for(std::uint16_t status) {
  if (status == 401 || status == 403) return 3;
  if (status == 400) return 2;
  return status == 404 || status == 409 ? 1 : 4;
}

InboxHeard ask_inbox(const InboxArguments& given, const std::string& method, const std::string& target,
                     const std::string& body) {
  const Result<AdminServer> server = admin_server(given.admin, given.token, given.config);
  if (!server) return {.code = complain_of_inbox(server.error().detail, 2), .body = {}};
  const Result<AdminAnswer> answer = call_admin(*server, method, target, body);
  if (!answer) return {.code = complain_of_inbox(answer.error().detail, 4), .body = {}};
  boost::system::error_code error;
  json::value value = json::parse(answer->body, error);
  if (error || !value.is_object()) {
    return {.code = complain_of_inbox(fmt::format("status {} without JSON", answer->status), 4), .body = {}};
  }
  InboxHeard told{.code = 0, .body = std::move(value.get_object())};
  if (given.json) fmt::print("{}\n", answer->body);
  if (answer->status == 200) return told;
  const json::value* const detail = told.body.if_contains("detail");
  told.code =
      complain_of_inbox(detail != nullptr && detail->is_string() ? std::string_view(detail->get_string()) : "refused",
                        inbox_code_for(answer->status));
  return told;
}

std::string inbox_query(const InboxArguments& given) {
  std::string query;
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) query += fmt::format("&{}={}", name, encoded(value));
  };
  add("state", given.state);
  add("source", given.source);
  add("dest", given.destination);
  add("type", given.type);
  add("from", given.from);
  add("to", given.to);
  return query;
}

std::string_view text_of(const json::object& object, std::string_view member) {
  const json::value* const value = object.if_contains(member);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

std::string shown_of(const json::object& object, std::string_view member) {
  return core::printable(text_of(object, member));
}

std::int64_t number_of(const json::object& object, std::string_view member) {
  const json::value* const value = object.if_contains(member);
  if (value == nullptr) return 0;
  return value->is_int64()    ? value->get_int64()
         : value->is_uint64() ? static_cast<std::int64_t>(value->get_uint64())
                              : 0;
}

void print_delivery(const json::object& item) {
  fmt::print("{} {} {} -> {} {} attempt {}{}{}\n", shown_of(item, "id"), shown_of(item, "accepted_at"),
             shown_of(item, "source"), shown_of(item, "destination"), shown_of(item, "state"),
             number_of(item, "attempt"), shown_of(item, "why").empty() ? "" : ": ", shown_of(item, "why"));
}

void nap(Clock& clock, Millis time) {
  boost::asio::io_context context{1};
  boost::asio::co_spawn(context, runtime::sleep(clock, time), boost::asio::detached);
  context.run();
}

CLI::App* add_inbox_part(CLI::App& parent, InboxArguments& given, const std::string& name, const std::string& about) {
  CLI::App* const part = parent.add_subcommand(name, about);
  part->add_option("--admin", given.admin, "The admin listener of a gateway");
  part->add_option("--token", given.token, "Of the role that is needed (or the environment's SEMEL_ADMIN_TOKEN)");
  part->add_option("-c,--config", given.config, "Take both from this configuration");
  part->add_flag("--json", given.json, "Print what the gateway answers");
  return part;
}

void add_inbox_filter(CLI::App& part, InboxArguments& given) {
  part.add_option("--state", given.state, "Only this state, such as dead");
  part.add_option("--source", given.source, "Only events of this webhook, by its path");
  part.add_option("--to", given.destination, "Only this destination");
  part.add_option("--type", given.type, "Only this type of event");
  part.add_option("--from", given.from, "Accepted at or after this time (RFC 3339)");
  part.add_option("--until", given.to, "Accepted before this time (RFC 3339)");
}

}  // namespace semel::cli
