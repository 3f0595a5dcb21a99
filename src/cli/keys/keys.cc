// `semel keys`: the desk from a terminal. Every command is one request, or a few, to the admin listener of a gateway.
//
// Exit codes: 0 done; 1 no such key, a conflict, or a broken audit log; 2 wrong usage; 3 not allowed; 4 no answer.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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
#include "cli/keys/admin_options.h"
#include "cli/keys/keys_call.h"
#include "cli/keys/tally.h"
#include "cli/keys/text.h"
#include "cli/keys/watch.h"
#include "cli/load.h"
#include "core/encoding.h"
#include "core/printable.h"
#include "store/audit_log.h"
#include <semel/key.h>
#include <semel/result.h>

namespace semel::cli {
namespace {

namespace json = boost::json;

struct KeysArguments : AdminOptions {
  std::string key;   // the text of a key, or an id
  std::string text;  // of a key whose id is given
  std::string space = "default";
  std::string only_space;  // of a list
  std::string scope;
  std::string route;
  std::string webhook;
  std::string object;
  std::string method;
  std::string request_body;
  std::vector<std::string> headers;
  std::vector<std::string> fields;
  bool from_probe = false;
  bool from_suggestion = false;
  std::string state = "unknown";
  std::string older;
  std::uint64_t fence = 0;
  std::string as;
  std::uint16_t status = 200;
  std::string body;
  std::string reason;
};
using Given = std::shared_ptr<KeysArguments>;

Heard ask(const KeysArguments& given, const std::string& method, const std::string& target, const std::string& body) {
  return ask_admin(given, method, target, body);
}

bool split_header(const std::string& header, std::string& name, std::string& value) {
  const std::size_t colon = header.find(':');
  if (colon == std::string::npos || colon == 0) return false;
  name = header.substr(0, colon);
  value = header.substr(header.find_first_not_of(' ', colon + 1) == std::string::npos
                            ? header.size()
                            : header.find_first_not_of(' ', colon + 1));
  return true;
}

// What describes a customer's request: where it went, what it carried. False if a header cannot be read.
bool describe_request(const KeysArguments& given, json::object& body) {
  body["route"] = given.route;
  if (!given.method.empty()) body["method"] = given.method;
  if (!given.request_body.empty()) body["body"] = given.request_body;
  json::object fields;
  for (const std::string& header : given.headers) {
    std::string name;
    std::string value;
    if (!split_header(header, name, value)) return false;
    fields[name] = value;
  }
  body["fields"] = std::move(fields);
  return true;
}

int find(const KeysArguments& given) {
  json::object body;
  if (!given.object.empty() && given.webhook.empty()) return complain("--object: the object of which --webhook?", 2);
  if (given.object.empty() && given.key.empty()) return complain("which key? Give its text, or --object", 2);
  if (!given.webhook.empty()) {
    body["webhook"] = given.webhook;
    if (given.object.empty()) body["event"] = given.key;
    if (!given.object.empty()) body["object"] = given.object;
  } else {
    body["key"] = given.key;
    if (given.route.empty()) body["namespace"] = given.space;
    if (given.route.empty()) body["scope"] = given.scope;
    if (!given.route.empty() && !describe_request(given, body)) {
      return complain("--header: must be \"Name: value\"", 2);
    }
  }
  const Heard heard = ask(given, "POST", "/v1/keys/find", json::serialize(body));
  if (heard.code != 0) return heard.code;
  if (given.json) fmt::print("{}\n", json::serialize(heard.body.at("items").as_array().at(0)));
  if (!given.json) fmt::print("{}", key_text(heard.body.at("items").as_array().at(0).as_object()));
  return 0;
}

// The timeline of a key. Empty if its store keeps none.
json::object life_of(const KeysArguments& given, const std::string& id) {
  const Result<AdminServer> server = admin_server(given.admin, given.token, given.config);
  if (!server) return {};
  const Result<AdminAnswer> answer = call_admin(*server, "GET", "/v1/keys/" + id + "/timeline", "");
  boost::system::error_code error;
  json::value value = answer && answer->status == 200 ? json::parse(answer->body, error) : json::value();
  return !error && value.is_object() ? std::move(value.get_object()) : json::object();
}

int show(const KeysArguments& given) {
  const Heard heard = ask(given, "GET", "/v1/keys/" + encoded(given.key), "");
  if (heard.code != 0) return heard.code;
  const std::string id(heard.body.at("id").as_string());
  const json::object life = life_of(given, id);
  if (!given.json) {
    fmt::print("{}{}", key_text(heard.body), timeline_text(life));
    return 0;
  }
  json::object all = heard.body;
  for (const auto& [member, value] : life) all.emplace(member, value);
  all.erase("key");
  fmt::print("{}\n", json::serialize(all));
  return 0;
}

// All pieces of the list, as far as they go, in one.
int list(const KeysArguments& given) {
  json::array items;
  std::string query = "?state=" + encoded(given.state);
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) query += std::string("&") + name + "=" + encoded(value);
  };
  add("older", given.older);
  add("namespace", given.only_space);
  add("scope", given.scope);
  add("route", given.route);
  add("method", given.method);
  json::object last;
  for (std::string cursor;;) {
    Heard heard = ask(given, "GET", "/v1/keys" + query + (cursor.empty() ? "" : "&cursor=" + encoded(cursor)), "");
    if (heard.code != 0) return heard.code;
    for (const json::value& item : heard.body.at("items").as_array()) {
      if (!given.json) fmt::print("{}", key_line(item.as_object()));
      items.push_back(item);
    }
    cursor = std::string(heard.body.at("cursor").as_string());
    last = std::move(heard.body);
    if (cursor.empty()) break;
  }
  last["items"] = std::move(items);
  if (given.json) fmt::print("{}\n", json::serialize(last));
  if (given.json) return 0;
  if (last.at("items").as_array().empty()) fmt::print("none\n");
  if (!given.route.empty()) {
    fmt::print(stderr, "These are the keys of the namespace {}, which {} has.\n",
               core::printable(std::string_view(last.at("namespace").as_string())), given.route);
  }
  return 0;
}

int act(const KeysArguments& given, const std::string& page, json::object body) {
  body["fence"] = given.fence;
  body["reason"] = given.reason;
  const Heard heard = ask(given, "POST", "/v1/keys/" + encoded(given.key) + "/" + page, json::serialize(body));
  if (heard.code != 0) return heard.code;
  if (given.json) fmt::print("{}\n", json::serialize(heard.body));
  if (given.json) return 0;
  const json::value* const key = heard.body.if_contains("key");
  if (key != nullptr && key->is_object()) fmt::print("{}", key_text(key->get_object()));
  fmt::print("logged as  entry {}\n", heard.body.at("audit").to_number<std::uint64_t>());
  return 0;
}

int resolve(const KeysArguments& given) {
  json::object body;
  body["as"] = given.as;
  if (given.as != "done") return act(given, "resolve", std::move(body));
  if (given.from_suggestion) {
    body["from"] = "suggestion";
    return act(given, "resolve", std::move(body));
  }
  if (given.from_probe) {
    body["from"] = "probe";
    if (!given.text.empty()) body["key"] = given.text;
    if (!describe_request(given, body)) return complain("--header: must be \"Name: value\"", 2);
    return act(given, "resolve", std::move(body));
  }
  std::string content = given.body;
  if (content == "@-") {
    content.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else if (content.starts_with('@')) {
    Result<std::string> read = read_file(content.substr(1));
    if (!read) return complain("--body: " + read.error().detail, 2);
    content = *std::move(read);
  }
  json::array fields;
  for (const std::string& header : given.fields) {
    std::string name;
    std::string value;
    if (!split_header(header, name, value)) return complain("--field: must be \"Name: value\"", 2);
    fields.push_back(json::object{{"name", name}, {"value", value}});
  }
  body["response"] =
      json::object{{"status", given.status}, {"fields", std::move(fields)}, {"body_base64", core::to_base64(content)}};
  return act(given, "resolve", std::move(body));
}

// Reads the log; with `verify` it checks that each hash covers its entry and the one before.
int audit(const KeysArguments& given, bool verify) {
  Digest before{};
  std::uint64_t number = 0;
  for (bool complete = false; !complete;) {
    const Heard heard = ask(given, "GET", fmt::format("/v1/audit?after={}&limit=1000", number), "");
    if (heard.code != 0) return heard.code;
    for (const json::value& item : heard.body.at("items").as_array()) {
      const json::object& entry = item.as_object();
      const std::string text(entry.at("entry").as_string());
      const Digest expected = store::audit_hash(before, number + 1, text);
      const bool whole = entry.at("number").to_number<std::uint64_t>() == number + 1 &&
                         core::to_hex(expected) == entry.at("hash").as_string();
      if (verify && !whole) return complain(fmt::format("the chain is broken behind entry {}", number), 1);
      if (!verify && given.json) fmt::print("{}\n", json::serialize(item));
      if (!verify && !given.json) fmt::print("{}", audit_line(entry));
      number = entry.at("number").to_number<std::uint64_t>();
      before = expected;
    }
    complete = heard.body.at("complete").as_bool();
  }
  if (verify) fmt::print("{} entries, the chain is whole; its last hash is {}\n", number, core::to_hex(before));
  return 0;
}

CLI::App* add(CLI::App& keys, const Given& given, const char* name, const char* what) {
  return add_admin_command(keys, *given, name, what);
}

void add_request(CLI::App& command, const Given& given) {
  command.add_option("--route", given->route, "A path: namespace and scope follow from its route and --header");
  command.add_option("--header", given->headers, "\"Name: value\"; may be given several times")
      ->allow_extra_args(false);
  command.add_option("--method", given->method, "Of the request, if it was not POST");
  command.add_option("--request-body", given->request_body, "Of the request, if the route makes the key from it");
}

void add_reports(CLI::App& keys, const Given& given, Command& run) {
  auto asked = std::make_shared<TallyArguments>();
  CLI::App* counted = add(keys, given, "tally", "How many requests ended in which way, and how many were duplicates");
  counted->add_option("--by", asked->by, "route, scope or outcome")
      ->capture_default_str()
      ->check(CLI::IsMember({"route", "scope", "outcome"}));
  counted->add_option("--days", asked->days, "The last so many days, with today")
      ->capture_default_str()
      ->check(CLI::Range(1, 730));
  counted->add_option("--step", asked->step, "minute, hour or day; by itself days, or hours of one day")
      ->check(CLI::IsMember({"minute", "hour", "day"}));
  counted->callback([given, asked, &run] { run = [given, asked] { return tally(*given, *asked); }; });

  CLI::App* examined = add(keys, given, "doctor", "What is odd about how clients use their keys");
  examined->add_option("--route", asked->route, "Only this route, by its path in the configuration");
  examined->add_option("--days", asked->days, "Of the last so many days")
      ->capture_default_str()
      ->check(CLI::Range(1, 90));
  examined->callback([given, asked, &run] { run = [given, asked] { return doctor(*given, *asked); }; });
}

void add_acts(CLI::App& keys, const Given& given, Command& run) {
  CLI::App* resolved = add(keys, given, "resolve", "Settle an unknown outcome");
  resolved->add_option("id", given->key, "The id of the key")->required();
  resolved->add_option("--fence", given->fence, "The fence that you decided on")->required();
  resolved->add_option("--as", given->as, "done or not-done")->required()->check(CLI::IsMember({"done", "not-done"}));
  resolved->add_option("--status", given->status, "Of the answer to replay")->capture_default_str();
  resolved->add_option("--body", given->body, "Of the answer: text, @FILE or @-");
  resolved->add_option("--field", given->fields, "Of the answer: \"Name: value\"; may be given several times")
      ->allow_extra_args(false);
  CLI::Option* probe = resolved->add_flag("--from-probe", given->from_probe, "Ask the upstream now for the answer");
  resolved->add_flag("--from-suggestion", given->from_suggestion, "Take the answer that the resolver suggests")
      ->excludes(probe);
  resolved->add_option("--key", given->text, "For the probe: the text of the key")->needs(probe);
  add_request(*resolved, given);
  resolved->add_option("--reason", given->reason, "Why; kept in the audit log")->required();
  resolved->callback([given, &run] { run = [given] { return resolve(*given); }; });

  CLI::App* reopened = add(keys, given, "reopen", "Let a finished key run again");
  reopened->add_option("id", given->key, "The id of the key")->required();
  reopened->add_option("--fence", given->fence, "The fence that you decided on")->required();
  reopened->add_option("--reason", given->reason, "Why; kept in the audit log")->required();
  reopened->callback([given, &run] { run = [given] { return act(*given, "reopen", {}); }; });

  CLI::App* log = add(keys, given, "audit", "What operators did");
  auto verify = std::make_shared<bool>(false);
  log->add_flag("--verify", *verify, "Only check that the chain of hashes is whole");
  log->callback([given, verify, &run] { run = [given, verify] { return audit(*given, *verify); }; });
}

}  // namespace

void add_keys(CLI::App& app, Command& run) {
  const Given given = std::make_shared<KeysArguments>();
  CLI::App* keys = app.add_subcommand("keys", "Find a key, see how it stands, settle it");
  keys->require_subcommand(1);
  keys->footer("Exit codes: 0 done; 1 no such key, or it has moved on; 2 wrong usage; 3 not allowed; 4 no answer");

  CLI::App* found = add(*keys, given, "find", "A key by what the customer sent");
  found->add_option("key", given->key, "The text of the key, or the id of a webhook's event");
  found->add_option("--namespace", given->space, "Of the route")->capture_default_str();
  found->add_option("--scope", given->scope, "What identifies the customer, such as the Authorization field");
  add_request(*found, given);
  found->add_option("--webhook", given->webhook, "The path of a webhook: the key is an event's id");
  found->add_option("--object", given->object, "In place of the event's id: the object that it is about");
  found->callback([given, &run] { run = [given] { return find(*given); }; });

  CLI::App* shown = add(*keys, given, "show", "How a key stands, and its life: attempts, outcomes, repeats");
  shown->add_option("id", given->key, "Its id, or the beginning of it, as in a line of the log")->required();
  shown->callback([given, &run] { run = [given] { return show(*given); }; });

  CLI::App* listed = add(*keys, given, "list", "Keys that need somebody, oldest first");
  listed->add_option("--state", given->state, "unknown or running")
      ->capture_default_str()
      ->check(CLI::IsMember({"unknown", "running"}));
  listed->add_option("--older", given->older, "Claimed at least so long ago, such as 1h");
  listed->add_option("--namespace", given->only_space, "Only this namespace");
  listed->add_option("--scope", given->scope, "Only this scope, as the customer sends it");
  listed->add_option("--route", given->route, "Only the namespace of the route, or webhook, with this path");
  listed->add_option("--method", given->method, "Of the route, if it is not for POST");
  listed->callback([given, &run] { run = [given] { return list(*given); }; });

  add_reports(*keys, given, run);
  add_acts(*keys, given, run);
  add_watch(*keys, run);
}

}  // namespace semel::cli
