// The life of a key, for people.
#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "cli/keys/text.h"
#include "core/printable.h"

namespace semel::cli {
namespace {

namespace json = boost::json;

// A member as a text that can be printed; empty if it is not there.
std::string plain(const json::object& object, std::string_view member) {
  const json::value* const value = object.if_contains(member);
  if (value == nullptr) return {};
  return value->is_string() ? core::printable(std::string_view(value->get_string()))
                            : core::printable(json::serialize(*value));
}

// "key: text", or nothing if the member is not there.
std::string behind(std::string_view before, const json::object& object, std::string_view member) {
  const std::string text = plain(object, member);
  return text.empty() ? text : std::string(before) + text;
}

std::string attempt_text(const json::object& event) {
  std::string text =
      fmt::format("fence {} at {} by {}", plain(event, "fence"), plain(event, "upstream"), plain(event, "node"));
  text += event.contains("status") ? behind(": ", event, "status") : behind(": no answer, ", event, "cause");
  text += behind(" after ", event, "ms") + " ms";
  return text + behind(", for ", event, "client") + behind(" ", event, "agent");
}

std::string repeats_text(const json::object& event) {
  std::string text = plain(event, "count") + " at " + plain(event, "node");
  if (event.contains("until") && event.at("until") != event.at("at")) text += behind(", until ", event, "until");
  const json::value* const callers = event.if_contains("callers");
  if (callers == nullptr || !callers->is_array()) return text;
  for (const json::value& each : callers->get_array()) {
    if (!each.is_object()) continue;
    const json::object& caller = each.get_object();
    text += fmt::format("\n{:39}{} x {} ({}) for {}{}", "", plain(caller, "count"), plain(caller, "answer"),
                        plain(caller, "status"), plain(caller, "client"), behind(" ", caller, "agent"));
    text += behind("; differs in: ", caller, "differs");
  }
  return text;
}

std::string event_text(const json::object& event) {
  const std::string what = plain(event, "event");
  if (what == "attempt") return attempt_text(event);
  if (what == "repeats") return repeats_text(event);
  if (what == "outcome") return plain(event, "outcome") + behind(", because of: ", event, "cause");
  if (what == "act") return plain(event, "act") + behind(" by ", event, "who") + behind(": ", event, "reason");
  return behind("fence ", event, "fence");
}

}  // namespace

std::string timeline_text(const json::object& life) {
  std::string text = "timeline\n";
  const json::value* const events = life.if_contains("events");
  if (events == nullptr || !events->is_array()) return {};
  for (const json::value& each : events->get_array()) {
    if (!each.is_object()) continue;
    const json::object& event = each.get_object();
    text += fmt::format("  {:24}  {:9}  {}\n", plain(event, "at"), plain(event, "event"), event_text(event));
  }
  if (plain(life, "partial") == "true") {
    text += fmt::format("  partial: {} sightings of some keys were dropped meanwhile\n", plain(life, "dropped"));
  }
  return text;
}

std::string request_line(const json::object& line) {
  std::string text =
      fmt::format("{:24}  {} {:10} {:12} {} {}", plain(line, "time"), plain(line, "status"), plain(line, "outcome"),
                  plain(line, "key"), plain(line, "method"), plain(line, "path"));
  text += behind("  ", line, "ms") + " ms" + behind("  ", line, "problem") + behind("  cause ", line, "cause");
  text += behind("  differs in ", line, "differs") + behind("  would ", line, "would");
  return text + behind("  ", line, "client") + behind(" ", line, "agent") + behind("  ", line, "detail") + "\n";
}

}  // namespace semel::cli
