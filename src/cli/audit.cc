// `semel audit`: what audits found, from a terminal. Every command is one request to the admin listener of a gateway.
//
// Exit codes: 0 clean; 1 there are findings; 2 blind (or wrong usage, which is said); 3 not allowed; 4 not judged.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/inbox_call.h"
#include "cli/keys/admin_call.h"
#include "cli/keys/admin_options.h"
#include "core/printable.h"
#include <semel/result.h>

namespace semel::cli {
namespace {

namespace json = boost::json;

constexpr int clean = 0;
constexpr int findings_there = 1;
constexpr int blind = 2;
constexpr int not_allowed = 3;
constexpr int not_judged = 4;

struct AuditArguments : AdminOptions {
  std::string name;
  std::string from;
  std::string to;
  std::string state = "open";
  std::string kind;
  std::string reason;
};

int complain_of_audit(std::string_view what, int code) {
  fmt::print(stderr, "semel audit: {}\n", core::printable(what));
  return code;
}

// A request, and its answer as JSON. What is no success is printed, and `code` says how to exit.
struct AuditHeard {
  int code = 0;
  json::object body;
};

AuditHeard ask(const AuditArguments& given, const std::string& method, const std::string& target,
               const json::object& sent) {
  const Result<AdminServer> server = admin_server(given.admin, given.token, given.config);
  if (!server) return {.code = complain_of_audit(server.error().detail, not_judged), .body = {}};
  const Result<AdminAnswer> answer =
      call_admin(*server, method, target, method == "GET" ? std::string() : json::serialize(sent));
  if (!answer) return {.code = complain_of_audit(answer.error().detail, not_judged), .body = {}};
  boost::system::error_code error;
  json::value value = json::parse(answer->body, error);
  if (error || !value.is_object()) {
    return {.code = complain_of_audit(fmt::format("status {} without JSON", answer->status), not_judged), .body = {}};
  }
  if (answer->status == 200) {
    if (given.json) fmt::print("{}\n", answer->body);
    return {.code = 0, .body = value.get_object()};
  }
  const bool refused = answer->status == 401 || answer->status == 403;
  return {.code = complain_of_audit(text_of(value.get_object(), "detail"), refused ? not_allowed : not_judged),
          .body = {}};
}

bool flag_of(const json::object& object, std::string_view member) {
  const json::value* const value = object.if_contains(member);
  return value != nullptr && value->is_bool() && value->get_bool();
}

void print_finding(const json::object& finding) {
  fmt::print("{} {} {} {} {} effect(s), first seen {}\n", shown_of(finding, "id"), shown_of(finding, "audit"),
             shown_of(finding, "kind"), shown_of(finding, "state"), number_of(finding, "effects"),
             shown_of(finding, "first_seen"));
  for (const json::value& each : finding.at("rows").as_array()) {
    const json::object& row = each.as_object();
    fmt::print("    effect {} at {} {}\n", shown_of(row, "effect"), shown_of(row, "at"), shown_of(row, "value"));
  }
  for (const json::value& each : finding.at("keys").as_array()) {
    const json::object& key = each.as_object();
    fmt::print("    key {} {}, fence {}\n", shown_of(key, "id"), shown_of(key, "state"), number_of(key, "fence"));
    for (const json::value& event : key.at("seen").as_array())
      fmt::print("        {}\n", core::printable(json::serialize(event)));
  }
}

int run_once(const AuditArguments& given, bool test) {
  json::object body;
  if (test) body["test"] = true;
  if (!given.from.empty()) body["from"] = given.from;
  if (!given.to.empty()) body["to"] = given.to;
  const AuditHeard told = ask(given, "POST", "/v1/audits/" + encoded(given.name) + "/run", body);
  if (told.code != 0) return told.code;
  if (flag_of(told.body, "blind")) {
    return complain_of_audit("BLIND: it does not see a duplicate that was planted in it; nothing that it says counts",
                             blind);
  }
  if (!given.json) {
    fmt::print("{}: {} effect(s) of {} key(s) from {} to {}, in {} ms; it sees what is planted in it\n", given.name,
               number_of(told.body, "effects"), number_of(told.body, "keys"), shown_of(told.body, "from"),
               shown_of(told.body, "to"), number_of(told.body, "took_ms"));
    for (const auto& [kind, count] : told.body.at("suspects").as_object()) {
      const std::int64_t many = number_of(told.body.at("suspects").as_object(), kind);
      if (many != 0) fmt::print("  {} {}\n", std::string_view(kind), many);
    }
    for (const json::value& each : told.body.at("findings").as_array()) print_finding(each.as_object());
  }
  if (test) return clean;
  return number_of(told.body, "not_closed") > 0 ? findings_there : clean;
}

// One that has judged nothing has not shown yet that it sees, and one in trouble does not see what comes now.
std::string standing_of(const json::object& audit) {
  const std::string_view judged_to = text_of(audit, "judged_to");
  const std::string_view trouble = text_of(audit, "trouble");
  std::string line(text_of(audit, "name"));
  if (flag_of(audit, "blind")) line += ": BLIND";
  if (judged_to.empty()) {
    line += text_of(audit, "ended").empty() ? ": not yet run" : ": has judged nothing yet";
  } else if (flag_of(audit, "blind")) {
    line.append(", judged up to ").append(judged_to);
  } else {
    line.append(trouble.empty() ? ": sees, judged up to " : ": has not judged what came after ").append(judged_to);
  }
  return trouble.empty() ? line : line.append("; ").append(trouble);
}

int list(const AuditArguments& given) {
  std::string target = "/v1/audits/findings?state=" + encoded(given.state);
  if (given.state == "all") target = "/v1/audits/findings?limit=1000";
  if (!given.name.empty()) target += "&audit=" + encoded(given.name);
  if (!given.kind.empty()) target += "&kind=" + encoded(given.kind);
  AuditArguments quiet = given;
  quiet.json = false;
  const AuditHeard audits = ask(quiet, "GET", "/v1/audits", {});
  if (audits.code != 0) return audits.code;
  const AuditHeard told = ask(given, "GET", target, {});
  if (told.code != 0) return told.code;
  bool any_blind = false;
  bool any_unjudged = false;
  bool any = false;
  for (const json::value& each : audits.body.at("items").as_array()) {
    const json::object& audit = each.as_object();
    if (!given.name.empty() && text_of(audit, "name") != given.name) continue;
    any = true;
    any_blind = any_blind || flag_of(audit, "blind");
    any_unjudged = any_unjudged || text_of(audit, "judged_to").empty() || !text_of(audit, "trouble").empty();
    if (!given.json) fmt::print("{}\n", core::printable(standing_of(audit)));
  }
  if (!given.name.empty() && !any) {
    return complain_of_audit("there is no [[audit]] with the name " + given.name, not_judged);
  }
  const json::array& items = told.body.at("items").as_array();
  for (const json::value& each : items) {
    if (!given.json) print_finding(each.as_object());
  }
  if (any_blind) return blind;
  if (!items.empty()) return findings_there;
  return any_unjudged ? not_judged : clean;
}

int act(const AuditArguments& given, const std::string& what) {
  json::object body;
  body["reason"] = given.reason;
  const AuditHeard told = ask(given, "POST", "/v1/audits/findings/" + encoded(given.name) + "/" + what, body);
  if (told.code != 0) return told.code;
  if (!given.json) print_finding(told.body.at("finding").as_object());
  return clean;
}

}  // namespace

void add_audit(CLI::App& app, Command& run) {
  auto given = std::make_shared<AuditArguments>();
  CLI::App* const audit = app.add_subcommand("audit", "Compare the effects in a database with the keys");
  audit->require_subcommand(1);
  CLI::App* const once = add_admin_command(*audit, *given, "run", "Look at a window now, and keep what is found");
  once->add_option("name", given->name, "The audit")->required();
  once->add_option("--from", given->from, "Effects from this time on (RFC 3339); else the next window");
  once->add_option("--to", given->to, "Effects before this time");
  once->callback([given, &run] { run = [given] { return run_once(*given, false); }; });
  CLI::App* const test = add_admin_command(*audit, *given, "test", "See whether an audit can find anything");
  test->add_option("name", given->name, "The audit")->required();
  test->callback([given, &run] { run = [given] { return run_once(*given, true); }; });
  CLI::App* const listed = add_admin_command(*audit, *given, "list", "How audits stand, and what they found");
  listed->add_option("name", given->name, "Only this audit");
  listed->add_option("--state", given->state, "open, acknowledged, closed or all")->capture_default_str();
  listed->add_option("--kind", given->kind, "duplicate, missing, ghost, orphan or duplicate-value");
  listed->callback([given, &run] { run = [given] { return list(*given); }; });
  for (const char* const what : {"close", "acknowledge"}) {
    CLI::App* const part = add_admin_command(
        *audit, *given, what,
        what == std::string_view("close") ? "A finding has been dealt with" : "Somebody deals with a finding");
    part->add_option("id", given->name, "The finding")->required();
    part->add_option("--reason", given->reason, "Why; it is in the audit log")->required();
    part->callback([given, what, &run] { run = [given, what] { return act(*given, what); }; });
  }
}

}  // namespace semel::cli
