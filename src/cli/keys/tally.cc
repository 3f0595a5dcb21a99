// Tables for people; with --json the answer as it came.
#include "cli/keys/tally.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "cli/keys/admin_call.h"
#include "cli/keys/admin_options.h"
#include "cli/keys/keys_call.h"
#include "core/printable.h"
#include <semel/clock.h>

namespace semel::cli {
namespace {

namespace json = boost::json;

std::string text_in(const json::object& object, std::string_view member) {
  const json::value* const value = object.if_contains(member);
  return value != nullptr && value->is_string() ? core::printable(std::string_view(value->get_string()))
                                                : std::string();
}

double number_in(const json::object& object, std::string_view member) {
  const json::value* const value = object.if_contains(member);
  return value != nullptr && value->is_number() ? value->to_number<double>() : 0;
}

std::uint64_t outcome_in(const json::object& item, std::string_view outcome) {
  const json::value* const outcomes = item.if_contains("outcomes");
  if (outcomes == nullptr || !outcomes->is_object()) return 0;
  return static_cast<std::uint64_t>(number_in(outcomes->get_object(), outcome));
}

const json::array& items_in(const json::object& answer, std::string_view member) {
  static const json::array none;
  const json::value* const items = answer.if_contains(member);
  return items != nullptr && items->is_array() ? items->get_array() : none;
}

constexpr std::size_t time_width = 16;  // 2026-11-17T14:05

std::string row(std::string_view at, std::string_view name, std::size_t width, const json::object& item) {
  const std::string times = item.contains("p50_ms")
                                ? fmt::format("{:>9.1f} {:>9.1f}", number_in(item, "p50_ms"), number_in(item, "p99_ms"))
                                : fmt::format("{:>9} {:>9}", "-", "-");
  return fmt::format("{:<{}}  {:<{}} {:>10.0f} {:>10.0f} {:>7.2f} {:>9} {:>7} {:>7} {:>7} {}\n", at, time_width, name,
                     width, number_in(item, "requests"), number_in(item, "duplicates"), 100 * number_in(item, "rate"),
                     outcome_in(item, "replayed"), outcome_in(item, "in-flight"), outcome_in(item, "key-reused"),
                     outcome_in(item, "unknown") + outcome_in(item, "outcome-unknown"), times);
}

}  // namespace

std::string tally_text(const json::object& answer) {
  const json::array& items = items_in(answer, "items");
  if (items.empty()) return "none\n";
  std::size_t width = 12;
  for (const json::value& item : items) width = std::max(width, text_in(item.as_object(), "name").size());
  const bool days = text_in(answer, "step") == "day";
  std::string out = fmt::format("{:<{}}  {:<{}} {:>10} {:>10} {:>7} {:>9} {:>7} {:>7} {:>7} {:>9} {:>9}\n",
                                days ? "day" : "from (UTC)", time_width, text_in(answer, "by"), width, "requests",
                                "duplicates", "rate %", "replayed", "409", "422", "unknown", "p50 ms", "p99 ms");
  for (const json::value& item : items) {
    const std::string at = text_in(item.as_object(), "at").substr(0, days ? 10 : time_width);
    out += row(at, text_in(item.as_object(), "name"), width, item.as_object());
  }
  for (const json::value& item : items_in(answer, "totals")) {
    out += row("in all", text_in(item.as_object(), "name"), width, item.as_object());
  }
  const json::value* const complete = answer.if_contains("complete");
  if (complete != nullptr && complete->is_bool() && !complete->get_bool()) {
    out += fmt::format("that is too much for one answer: this goes up to {}\n", text_in(answer, "searched_to"));
  }
  return out;
}

std::string doctor_text(const json::object& answer) {
  std::string out;
  for (const json::value& each : items_in(answer, "items")) {
    const json::object& item = each.as_object();
    const std::string scope = text_in(item, "scope");
    out += fmt::format("{} ({}): {}, {}\n  {}\n  {}\n", text_in(item, "kind"), text_in(item, "strength"),
                       text_in(item, "route"), scope.empty() ? "several callers" : "scope " + scope,
                       text_in(item, "evidence"), text_in(item, "advice"));
    const std::string remedy = text_in(item, "remedy");
    if (!remedy.empty()) out += fmt::format("  Or in the configuration of the route: {}\n", remedy);
    out += fmt::format("  from {} to {}\n", text_in(item, "first"), text_in(item, "last"));
  }
  if (out.empty()) out = "nothing was found\n";
  for (const json::value& each : items_in(answer, "observed")) {
    const json::object& item = each.as_object();
    out += fmt::format(
        "{} only observes: of {:.0f} requests {:.0f} would run, {:.0f} would be answered with the stored "
        "answer, {:.0f} would be refused, {:.0f} would pass without a key\n",
        text_in(item, "route"), number_in(item, "requests"), number_in(item, "would_run"),
        number_in(item, "would_replay"), number_in(item, "would_refuse"), number_in(item, "would_pass"));
  }
  return out;
}

int tally(const AdminOptions& server, const TallyArguments& given) {
  const std::string step = !given.step.empty() ? given.step : given.days > 1 ? "day" : "hour";
  // Whole days, with today as the last of them.
  const auto today = std::chrono::floor<std::chrono::days>(make_system_clock()->wall());
  const auto from = std::chrono::time_point_cast<std::chrono::seconds>(today - std::chrono::days(given.days - 1));
  const std::string target = fmt::format("/v1/tally?by={}&step={}&from={}", encoded(given.by), encoded(step),
                                         encoded(fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(from))));
  const Heard heard = ask_admin(server, "GET", target, "");
  if (heard.code != 0) return heard.code;
  fmt::print("{}", server.json ? json::serialize(heard.body) + "\n" : tally_text(heard.body));
  return 0;
}

int doctor(const AdminOptions& server, const TallyArguments& given) {
  std::string target = fmt::format("/v1/doctor?days={}", given.days);
  if (!given.route.empty()) target += "&route=" + encoded(given.route);
  const Heard heard = ask_admin(server, "GET", target, "");
  if (heard.code != 0) return heard.code;
  fmt::print("{}", server.json ? json::serialize(heard.body) + "\n" : doctor_text(heard.body));
  return 0;
}

}  // namespace semel::cli
