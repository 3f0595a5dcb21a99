// [[outbox]]: a database of the user's own in which programs ask for effects.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "config/config.h"
#include "config/sections.h"
#include "core/ascii.h"
#include "inbox/destination.h"
#include "reading/document.h"
#include "reading/nearest.h"
#include "reading/read_values.h"
#include "reading/secret.h"
#include "reading/table_reader.h"
#include "reading/units.h"
#include <semel/clock.h>

namespace semel::config {
namespace {

constexpr std::size_t name_bytes_max = 48;

void read_name(reading::TableReader& table, const Config& config, std::string& into) {
  reading::read_text(table, "name", into);
  const auto plain = [](char c) { return core::is_letter(c) || core::is_digit(c) || c == '-' || c == '_' || c == '.'; };
  if (into.empty() || into.size() > name_bytes_max || !std::ranges::all_of(into, plain)) {
    table.reject("name", table.at("name"), "the name of an outbox is 1 to 48 letters, digits, dots, - and _");
    return;
  }
  const auto same = [&](const OutboxConfig& other) { return other.name == into; };
  if (std::ranges::any_of(config.outboxes, same)) {
    table.reject("name", table.at("name"), fmt::format("there is another [[outbox]] with the name {}", into));
  }
}

void read_database(reading::TableReader& table, reading::Secret& into) {
  const reading::Node* const value = table.require("database");
  table.record("database", "", "[secret]");
  if (value == nullptr || !table.expect("database", *value, reading::NodeKind::string)) return;
  const auto secret = reading::resolve(table, "database", *value, reading::Literal::fine);
  if (!secret) return;
  const std::string& url = secret->reveal();
  if (!url.starts_with("postgres://") && !url.starts_with("postgresql://")) {
    table.reject("database", value->at, "the database of an outbox is a PostgreSQL one: postgres://...");
    return;
  }
  if (value->text == url && holds_password(url)) {
    table.warn("database", "database holds a password; use env:NAME or file:PATH");
  }
  into = *secret;
}

void read_poll(reading::TableReader& table, OutboxConfig& into) {
  reading::TableReader inner(table.reading(), table.find("poll"), "outbox.poll");
  const reading::Range<Millis> range{.min = Millis{1}, .max = Millis{60'000}};
  reading::read_duration(inner, "busy", into.poll_busy, range);
  reading::read_duration(inner, "idle", into.poll_idle, range);
  if (inner.good("busy") && inner.good("idle") && into.poll_busy > into.poll_idle) {
    inner.reject("idle", inner.at("idle"), "poll.idle is shorter than poll.busy");
  }
  inner.finish();
  table.record("poll", "{...}", "{...}");
}

// An effect has no target of its own, as an event has; so the destination must say where it goes.
void read_deliver(reading::TableReader& table, const Config& config, OutboxConfig& into) {
  const reading::Node* const value = table.require("deliver");
  table.record("deliver", "", value == nullptr ? "" : "[...]");
  if (value == nullptr || !table.expect("deliver", *value, reading::NodeKind::array)) return;
  std::vector<std::string_view> names;
  names.reserve(config.destinations.size());
  for (const inbox::Destination& each : config.destinations) names.emplace_back(each.name);
  for (const reading::Node& item : value->children) {
    if (!table.expect("deliver", item, reading::NodeKind::string)) continue;
    const auto found = std::ranges::find(names, item.text);
    if (found == names.end()) {
      table.reject("deliver", item.at, fmt::format("there is no [destination.{}]", item.text),
                   reading::nearest(item.text, names).value_or(std::string_view{}));
    } else if (config.destinations[static_cast<std::size_t>(found - names.begin())].target.text().empty()) {
      table.reject(
          "deliver", item.at,
          fmt::format("[destination.{}] needs a target: what an outbox sends has no path of its own", item.text),
          "target = \"/path\"");
    } else if (std::ranges::find(into.deliver, item.text) != into.deliver.end()) {
      table.reject("deliver", item.at, fmt::format("{} stands in deliver twice", item.text));
    } else {
      into.deliver.push_back(item.text);
    }
  }
  if (value->children.empty()) {
    table.reject("deliver", value->at, "deliver is empty, so everything that is sent would be dead at once");
  }
}

void check_outbox(reading::TableReader& table, const OutboxConfig& outbox, const Config& config) {
  for (const std::string& name : outbox.deliver) {
    const auto to = std::ranges::find(config.destinations, name, &inbox::Destination::name);
    if (outbox.ttl >= to->schedule.give_up_after) continue;
    table.warn(
        "ttl",
        fmt::format("ttl is {}, but {} is tried for {}: the same key sent late would be taken for a new one",
                    reading::duration_text(outbox.ttl), name, reading::duration_text(to->schedule.give_up_after)));
  }
  const auto same = [&](const OutboxConfig& other) { return other.database == outbox.database; };
  if (!outbox.database.empty() && std::ranges::any_of(config.outboxes, same)) {
    table.reject("database", table.at("database"), "another [[outbox]] has this database; a database has one outbox");
  }
}

}  // namespace

void read_outbox(reading::Reading& reading, const reading::Node& node, Config& config) {
  reading::TableReader table(reading, &node, "outbox");
  OutboxConfig outbox;
  read_name(table, config, outbox.name);
  read_database(table, outbox.database);
  read_poll(table, outbox);
  reading::read_flag(table, "doorbell", outbox.doorbell);
  read_deliver(table, config, outbox);
  reading::read_duration(table, "ttl", outbox.ttl, {.min = Millis{60'000}, .max = 365 * reading::one_day});
  reading::read_count(table, "depth_max", outbox.depth_max, {.min = 1, .max = 4'000'000'000U});
  check_outbox(table, outbox, config);
  table.finish();
  config.outboxes.push_back(std::move(outbox));
}

}  // namespace semel::config
