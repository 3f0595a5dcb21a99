// `semel inbox`: the inbox from a terminal. Every command is one request to the admin listener of a gateway.
//
// Exit codes are those of `semel keys`: 0 done; 1 no such event or a conflict; 2 wrong usage; 3 not allowed; 4 no
// answer.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/inbox_call.h"
#include "cli/inbox_jobs.h"
#include "cli/inbox_stream.h"
#include "cli/keys/admin_call.h"
#include "core/encoding.h"
#include "core/printable.h"

namespace semel::cli {
namespace {

namespace json = boost::json;

int status(const InboxArguments& given) {
  const InboxHeard told = ask_inbox(given, "GET", "/v1/destinations", {});
  if (told.code != 0 || given.json) return told.code;
  for (const json::value& each : told.body.at("items").as_array()) {
    const json::object& item = each.as_object();
    fmt::print("{}: {} of {} running{}, breaker {}; accepted {}, unaccounted {}\n", shown_of(item, "name"),
               number_of(item, "running"), number_of(item, "concurrency"),
               item.at("paused").as_bool() ? fmt::format(", paused ({})", shown_of(item, "reason")) : "",
               shown_of(item, "breaker"), number_of(item, "accepted"), number_of(item, "unaccounted"));
    for (const auto& [state, count] : item.at("states").as_object()) {
      const std::int64_t many = number_of(item.at("states").as_object(), state);
      if (many != 0) fmt::print("    {} {}\n", std::string_view(state), many);
    }
  }
  return 0;
}

int list(const InboxArguments& given) {
  const std::string target = "/v1/inbox?limit=1000" + inbox_query(given);
  std::string cursor;
  do {
    const InboxHeard told =
        ask_inbox(given, "GET", cursor.empty() ? target : target + "&cursor=" + encoded(cursor), {});
    if (told.code != 0) return told.code;
    for (const json::value& each : told.body.at("items").as_array()) {
      if (!given.json) print_delivery(each.as_object());
    }
    cursor = std::string(text_of(told.body, "cursor"));
  } while (!cursor.empty());
  return 0;
}

// On a terminal a body is text, and nothing else; in a file it is as it came.
std::string shown_body(std::string_view body) {
  std::string shown;
  for (;;) {
    const std::size_t end = body.find_first_of("\n\t");
    shown += core::printable(body.substr(0, end));
    if (end == std::string_view::npos) return shown;
    shown += body[end];
    body.remove_prefix(end + 1);
  }
}

int show(const InboxArguments& given) {
  const InboxHeard told = ask_inbox(given, "GET", "/v1/inbox/" + encoded(given.id) + (given.body ? "/body" : ""), {});
  if (told.code != 0 || given.json) return told.code;
  if (given.body) {
    for (const json::value& each : told.body.at("fields").as_array()) {
      fmt::print("{}: {}\n", shown_of(each.as_object(), "name"), shown_of(each.as_object(), "value"));
    }
    const std::string body = core::from_base64(text_of(told.body, "body_base64")).value_or("");
    fmt::print("\n{}\n", ::isatty(STDOUT_FILENO) == 1 ? shown_body(body) : body);
    return 0;
  }
  for (const json::value& each : told.body.at("deliveries").as_array()) print_delivery(each.as_object());
  return 0;
}

int act(const InboxArguments& given, const std::string& what) {
  json::object body;
  body["reason"] = given.reason;
  if (!given.destination.empty()) body["destination"] = given.destination;
  const InboxHeard told =
      ask_inbox(given, "POST", "/v1/inbox/" + encoded(given.id) + "/" + what, json::serialize(body));
  if (told.code != 0 || given.json) return told.code;
  if (const json::value* const delivery = told.body.if_contains("delivery")) print_delivery(delivery->as_object());
  return 0;
}

int control(const InboxArguments& given, const std::string& what) {
  json::object body;
  body["reason"] = given.reason;
  if (!given.span.empty()) body["for"] = given.span;
  const InboxHeard told =
      ask_inbox(given, "POST", "/v1/destinations/" + encoded(given.id) + "/" + what, json::serialize(body));
  if (told.code == 0 && !given.json) fmt::print("{}: {}d\n", given.id, what);
  return told.code;
}

}  // namespace

void add_inbox(CLI::App& app, Command& run) {
  CLI::App* const inbox = app.add_subcommand("inbox", "What was accepted and is to be delivered");
  inbox->require_subcommand(1);
  const auto given = std::make_shared<InboxArguments>();
  CLI::App* const about =
      add_inbox_part(*inbox, *given, "status", "Destinations, and how many deliveries are in which state");
  about->callback([given, &run] { run = [given] { return status(*given); }; });
  CLI::App* const all = add_inbox_part(*inbox, *given, "list", "Deliveries, oldest first");
  add_inbox_filter(*all, *given);
  all->callback([given, &run] { run = [given] { return list(*given); }; });
  CLI::App* const one = add_inbox_part(*inbox, *given, "show", "One event with its deliveries");
  one->add_option("id", given->id, "The id of the event")->required();
  one->add_flag("--body", given->body, "What it came with; the audit log says who read it");
  one->callback([given, &run] { run = [given] { return show(*given); }; });
  const std::pair<const char*, const char*> acts[] = {{"redeliver", "Another attempt, whatever came of the others"},
                                                      {"resolve", "One of unknown outcome took effect"}};
  for (const auto& [name, help] : acts) {
    CLI::App* const part = add_inbox_part(*inbox, *given, name, help);
    part->add_option("id", given->id, "The id of the event")->required();
    part->add_option("--to", given->destination, "Which destination, if the event has several");
    part->add_option("--reason", given->reason, "Why; it is in the audit log")->required();
    part->callback([given, &run, what = std::string(name)] { run = [given, what] { return act(*given, what); }; });
  }
  add_job_commands(*inbox, run, [](const InboxArguments& one) { return act(one, "discard"); });
  add_stream_commands(*inbox, run);
  const std::pair<const char*, const char*> controls[] = {{"pause", "Send nothing more to a destination"},
                                                          {"resume", "Send again"}};
  for (const auto& [name, help] : controls) {
    CLI::App* const part = add_inbox_part(*inbox, *given, name, help);
    part->add_option("destination", given->id, "Its name")->required();
    part->add_option("--reason", given->reason, "Why; it is in the audit log")->required();
    if (std::string_view(name) == "pause") part->add_option("--for", given->span, "How long, such as 10m");
    part->callback([given, &run, what = std::string(name)] { run = [given, what] { return control(*given, what); }; });
  }
}

}  // namespace semel::cli
