// `semel inbox`: the inbox from a terminal. Every command is one request to the admin listener of a gateway.
//
// Exit codes are those of `semel keys`: 0 done; 1 no such event or a conflict; 2 wrong usage; 3 not allowed; 4 no
// answer.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/keys/admin_call.h"
#include "core/encoding.h"
#include <semel/result.h>

namespace semel::cli {
namespace {

namespace json = boost::json;

struct InboxArguments {
  std::string admin = "http://127.0.0.1:9080";
  std::string token;
  std::string config;
  bool json = false;

  std::string id;  // of an event, or the name of a destination
  std::string state;
  std::string source;
  std::string destination;
  std::string type;
  std::string from;
  std::string to;
  std::string reason;
  std::string span;
  bool body = false;
};
using InboxGiven = std::shared_ptr<InboxArguments>;

int complain(std::string_view what, int code) {
  fmt::print(stderr, "semel inbox: {}\n", what);
  return code;
}

int code_for(std::uint16_t status) {
  if (status == 401 || status == 403) return 3;
  if (status == 400) return 2;
  return status == 404 || status == 409 ? 1 : 4;
}

struct InboxHeard {
  int code = 0;
  json::object body;
};

InboxHeard ask(const InboxArguments& given, const std::string& method, const std::string& target,
               const std::string& body) {
  const Result<AdminServer> server = admin_server(given.admin, given.token, given.config);
  if (!server) return {.code = complain(server.error().detail, 2), .body = {}};
  const Result<AdminAnswer> answer = call_admin(*server, method, target, body);
  if (!answer) return {.code = complain(answer.error().detail, 4), .body = {}};
  boost::system::error_code error;
  json::value value = json::parse(answer->body, error);
  if (error || !value.is_object()) {
    return {.code = complain(fmt::format("status {} without JSON", answer->status), 4), .body = {}};
  }
  InboxHeard told{.code = 0, .body = std::move(value.get_object())};
  if (given.json) fmt::print("{}\n", answer->body);
  if (answer->status == 200) return told;
  const json::value* const detail = told.body.if_contains("detail");
  told.code = complain(detail != nullptr && detail->is_string() ? std::string_view(detail->get_string()) : "refused",
                       code_for(answer->status));
  return told;
}

std::string encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
    if (plain) out += c;
    if (!plain) out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string_view text_of(const json::object& object, std::string_view member) {
  const json::value* const value = object.if_contains(member);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

std::int64_t number_of(const json::object& object, std::string_view member) {
  const json::value* const value = object.if_contains(member);
  if (value == nullptr) return 0;
  return value->is_int64()    ? value->get_int64()
         : value->is_uint64() ? static_cast<std::int64_t>(value->get_uint64())
                              : 0;
}

void print_delivery(const json::object& item) {
  fmt::print("{} {} {} -> {} {} attempt {}{}{}\n", text_of(item, "id"), text_of(item, "accepted_at"),
             text_of(item, "source"), text_of(item, "destination"), text_of(item, "state"), number_of(item, "attempt"),
             text_of(item, "why").empty() ? "" : ": ", text_of(item, "why"));
}

int status(const InboxArguments& given) {
  const InboxHeard told = ask(given, "GET", "/v1/destinations", {});
  if (told.code != 0 || given.json) return told.code;
  for (const json::value& each : told.body.at("items").as_array()) {
    const json::object& item = each.as_object();
    fmt::print("{}: {} of {} running{}, breaker {}; accepted {}, unaccounted {}\n", text_of(item, "name"),
               number_of(item, "running"), number_of(item, "concurrency"),
               item.at("paused").as_bool() ? fmt::format(", paused ({})", text_of(item, "reason")) : "",
               text_of(item, "breaker"), number_of(item, "accepted"), number_of(item, "unaccounted"));
    for (const auto& [state, count] : item.at("states").as_object()) {
      const std::int64_t many = number_of(item.at("states").as_object(), state);
      if (many != 0) fmt::print("    {} {}\n", std::string_view(state), many);
    }
  }
  return 0;
}

int list(const InboxArguments& given) {
  std::string target = "/v1/inbox?limit=1000";
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) target += fmt::format("&{}={}", name, encoded(value));
  };
  add("state", given.state);
  add("source", given.source);
  add("dest", given.destination);
  add("type", given.type);
  add("from", given.from);
  add("to", given.to);
  std::string cursor;
  do {
    const InboxHeard told = ask(given, "GET", cursor.empty() ? target : target + "&cursor=" + encoded(cursor), {});
    if (told.code != 0) return told.code;
    for (const json::value& each : told.body.at("items").as_array()) {
      if (!given.json) print_delivery(each.as_object());
    }
    cursor = std::string(text_of(told.body, "cursor"));
  } while (!cursor.empty());
  return 0;
}

int show(const InboxArguments& given) {
  const InboxHeard told = ask(given, "GET", "/v1/inbox/" + encoded(given.id) + (given.body ? "/body" : ""), {});
  if (told.code != 0 || given.json) return told.code;
  if (given.body) {
    for (const json::value& each : told.body.at("fields").as_array()) {
      fmt::print("{}: {}\n", text_of(each.as_object(), "name"), text_of(each.as_object(), "value"));
    }
    fmt::print("\n{}\n", core::from_base64(text_of(told.body, "body_base64")).value_or(""));
    return 0;
  }
  for (const json::value& each : told.body.at("deliveries").as_array()) print_delivery(each.as_object());
  return 0;
}

int act(const InboxArguments& given, const std::string& what) {
  json::object body;
  body["reason"] = given.reason;
  if (!given.destination.empty()) body["destination"] = given.destination;
  const InboxHeard told = ask(given, "POST", "/v1/inbox/" + encoded(given.id) + "/" + what, json::serialize(body));
  if (told.code != 0 || given.json) return told.code;
  if (const json::value* const delivery = told.body.if_contains("delivery")) print_delivery(delivery->as_object());
  return 0;
}

int control(const InboxArguments& given, const std::string& what) {
  json::object body;
  body["reason"] = given.reason;
  if (!given.span.empty()) body["for"] = given.span;
  const InboxHeard told =
      ask(given, "POST", "/v1/destinations/" + encoded(given.id) + "/" + what, json::serialize(body));
  if (told.code == 0 && !given.json) fmt::print("{}: {}d\n", given.id, what);
  return told.code;
}

CLI::App* add_part(CLI::App& parent, const InboxGiven& given, const std::string& name, const std::string& about) {
  CLI::App* const part = parent.add_subcommand(name, about);
  part->add_option("--admin", given->admin, "The admin listener of a gateway");
  part->add_option("--token", given->token, "Its token; env:NAME and file:PATH are read");
  part->add_option("-c,--config", given->config, "Take both from this configuration");
  part->add_flag("--json", given->json, "Print what the gateway answers");
  return part;
}

}  // namespace

void add_inbox(CLI::App& app, Command& run) {
  CLI::App* const inbox = app.add_subcommand("inbox", "What was accepted and is to be delivered");
  inbox->require_subcommand(1);
  const auto given = std::make_shared<InboxArguments>();
  CLI::App* const about = add_part(*inbox, given, "status", "Destinations, and how many deliveries are in which state");
  about->callback([given, &run] { run = [given] { return status(*given); }; });
  CLI::App* const all = add_part(*inbox, given, "list", "Deliveries, oldest first");
  all->add_option("--state", given->state, "Only this state, such as dead");
  all->add_option("--source", given->source, "Only events of this webhook, by its path");
  all->add_option("--to", given->destination, "Only this destination");
  all->add_option("--type", given->type, "Only this type of event");
  all->add_option("--from", given->from, "Accepted at or after this time (RFC 3339)");
  all->add_option("--until", given->to, "Accepted before this time (RFC 3339)");
  all->callback([given, &run] { run = [given] { return list(*given); }; });
  CLI::App* const one = add_part(*inbox, given, "show", "One event with its deliveries");
  one->add_option("id", given->id, "The id of the event")->required();
  one->add_flag("--body", given->body, "What it came with; the audit log says who read it");
  one->callback([given, &run] { run = [given] { return show(*given); }; });
  const std::pair<const char*, const char*> acts[] = {{"redeliver", "Another attempt, whatever came of the others"},
                                                      {"discard", "End one that waits, is dead or unknown"},
                                                      {"resolve", "One of unknown outcome took effect"}};
  for (const auto& [name, help] : acts) {
    CLI::App* const part = add_part(*inbox, given, name, help);
    part->add_option("id", given->id, "The id of the event")->required();
    part->add_option("--to", given->destination, "Which destination, if the event has several");
    part->add_option("--reason", given->reason, "Why; it is in the audit log")->required();
    part->callback([given, &run, what = std::string(name)] { run = [given, what] { return act(*given, what); }; });
  }
  const std::pair<const char*, const char*> controls[] = {{"pause", "Send nothing more to a destination"},
                                                          {"resume", "Send again"}};
  for (const auto& [name, help] : controls) {
    CLI::App* const part = add_part(*inbox, given, name, help);
    part->add_option("destination", given->id, "Its name")->required();
    part->add_option("--reason", given->reason, "Why; it is in the audit log")->required();
    if (std::string_view(name) == "pause") part->add_option("--for", given->span, "How long, such as 10m");
    part->callback([given, &run, what = std::string(name)] { run = [given, what] { return control(*given, what); }; });
  }
}

}  // namespace semel::cli
