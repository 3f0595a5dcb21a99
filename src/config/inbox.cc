// [inbox], [destination.NAME], and what a [[webhook]] with `delivery = "inbox"` says.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "config/config.h"
#include "config/sections.h"
#include "core/ascii.h"
#include "inbox/breaker.h"
#include "inbox/destination.h"
#include "inbox/filter.h"
#include "inbox/schedule.h"
#include "reading/document.h"
#include "reading/fault.h"
#include "reading/nearest.h"
#include "reading/read_values.h"
#include "reading/table_reader.h"
#include "reading/units.h"
#include "webhook/webhook.h"
#include <semel/clock.h>

namespace semel::config {
namespace {

constexpr std::size_t steps_max = 64;

constexpr std::array order_choices{reading::Choice<inbox::EventOrder>{"none", inbox::EventOrder::none},
                                   reading::Choice<inbox::EventOrder>{"latest", inbox::EventOrder::latest},
                                   reading::Choice<inbox::EventOrder>{"fifo", inbox::EventOrder::fifo}};
constexpr std::array on_dead_choices{reading::Choice<inbox::OnDead>{"skip", inbox::OnDead::skip},
                                     reading::Choice<inbox::OnDead>{"block", inbox::OnDead::block}};
constexpr std::array silence_choices{reading::Choice<inbox::OnSilence>{"retry", inbox::OnSilence::retry},
                                     reading::Choice<inbox::OnSilence>{"hold", inbox::OnSilence::hold},
                                     reading::Choice<inbox::OnSilence>{"probe", inbox::OnSilence::probe}};

void read_handler_target(reading::TableReader& table, std::string_view key, inbox::HandlerTarget& into) {
  reading::read_parsed(
      table, key, into, [](std::string_view text) { return inbox::HandlerTarget::parse(text); },
      [](const inbox::HandlerTarget& target) { return target.text(); });
}

void check_probe(reading::TableReader& table, inbox::OnSilence on_unknown, const inbox::HandlerTarget& probe) {
  if (!table.good("on_unknown") || !table.good("probe")) return;
  const bool probes = on_unknown == inbox::OnSilence::probe;
  if (probes && probe.text().empty()) {
    table.reject("probe", table.at("on_unknown"), "on_unknown = \"probe\" needs `probe`, the target to ask");
  }
  if (!probes && !probe.text().empty()) {
    table.warn("probe", "probe has no effect unless on_unknown = \"probe\"");
  }
}

void read_percent(reading::TableReader& table, std::string_view key, std::uint32_t& into) {
  const auto parse = [](std::string_view text) -> reading::Parsed<std::uint32_t> {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc{} && std::string_view(end, text.data() + text.size()) == "%";
    if (!whole || value < 1 || value > 100) return reading::fault("must be 1% to 100%");
    return value;
  };
  reading::read_parsed(table, key, into, parse, [](std::uint32_t value) { return fmt::format("{}%", value); });
}

void read_schedule(reading::TableReader& table, inbox::RetrySchedule& into) {
  std::vector<std::string> texts;
  std::vector<Millis> steps;
  texts.reserve(into.steps.size());
  for (const Millis step : into.steps) texts.push_back(reading::duration_text(step));
  reading::read_list(table, "schedule", texts, [&](const std::string& text) -> reading::Parsed<void> {
    const auto step = reading::parse_duration(text);
    if (!step) return std::unexpected(step.error());
    if (*step > 30 * reading::one_day) return reading::fault("is over 30d");
    steps.push_back(*step);
    return {};
  });
  if (!table.has("schedule") || !table.good("schedule")) return;
  if (steps.empty() || steps.size() > steps_max) {
    table.reject("schedule", table.at("schedule"), "schedule has 1 to 64 steps; the first is for the first attempt");
    return;
  }
  into.steps = std::move(steps);
}

void read_fatal(reading::TableReader& table, std::vector<std::uint16_t>& into) {
  std::vector<std::string> texts;
  reading::read_list(table, "fatal", texts, [&](const std::string& text) -> reading::Parsed<void> {
    std::uint16_t status = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), status);
    const bool sound = error == std::errc{} && end == text.data() + text.size() && status >= 300 && status <= 599;
    if (!sound) return reading::fault("must be a status from 300 to 599");
    into.push_back(status);
    return {};
  });
}

void read_breaker(reading::TableReader& table, inbox::BreakerRules& into) {
  reading::TableReader inner(table.reading(), table.find("breaker"), "destination.breaker");
  reading::read_duration(inner, "window", into.window, {.min = reading::one_second, .max = Millis{3'600'000}});
  read_percent(inner, "failures", into.failures_percent);
  reading::read_count(inner, "min", into.attempts_min, {.min = 1, .max = 1'000'000});
  reading::read_count(inner, "in_a_row", into.in_a_row, {.min = 1, .max = 1'000'000});
  reading::read_duration(inner, "probe_max", into.probe_max, {.min = reading::one_second, .max = Millis{3'600'000}});
  inner.finish();
  table.record("breaker", "{...}", "{...}");
}

void read_destination(reading::Reading& reading, const reading::Node& node, Config& config) {
  reading::TableReader table(reading, &node, "destination.*");
  inbox::Destination destination;
  destination.name = node.name;
  const auto plain = [](char c) { return core::is_letter(c) || core::is_digit(c) || c == '-' || c == '_' || c == '.'; };
  if (node.name.empty() || node.name.size() > 64 || !std::ranges::all_of(node.name, plain)) {
    reading.report.error(node.name_at, "the name of a destination is 1 to 64 letters, digits, dots, - and _");
  }
  read_upstream_name(table, config, destination.upstream);
  read_handler_target(table, "target", destination.target);
  reading::read_count(table, "concurrency", destination.concurrency, {.min = 1, .max = 100'000});
  reading::read_optional(table, "rate", destination.rate, reading::parse_rate, reading::rate_text);
  read_schedule(table, destination.schedule);
  reading::read_duration(table, "give_up_after", destination.schedule.give_up_after,
                         {.min = reading::one_second, .max = 365 * reading::one_day});
  reading::read_duration(table, "retry_after_max", destination.schedule.retry_after_max,
                         {.min = Millis{0}, .max = 30 * reading::one_day});
  read_fatal(table, destination.fatal);
  read_breaker(table, destination.breaker);
  read_percent(table, "replay_share", destination.replay_share_percent);
  reading::read_choice(table, "on_unknown", destination.on_unknown, silence_choices);
  read_handler_target(table, "probe", destination.probe);
  check_probe(table, destination.on_unknown, destination.probe);
  reading::read_secret(table, "sign", destination.sign);
  table.finish();
  config.destinations.push_back(std::move(destination));
}

void read_outlet(reading::TableReader& table, const reading::Node& node, const Config& config,
                 inbox::InboxRules& into) {
  reading::TableReader inner(table.reading(), &node, "webhook.deliver");
  inbox::Outlet outlet;
  const reading::Node* const to = inner.require("to");
  inner.record("to", "", to == nullptr ? "" : reading::toml_string(to->text));
  bool found = false;
  if (to != nullptr && inner.expect("to", *to, reading::NodeKind::string)) {
    std::vector<std::string_view> names;
    names.reserve(config.destinations.size());
    for (const inbox::Destination& each : config.destinations) names.emplace_back(each.name);
    const auto at = std::ranges::find(names, to->text);
    found = at != names.end();
    outlet.to = static_cast<std::size_t>(at - names.begin());
    if (!found) {
      inner.reject("to", to->at, fmt::format("there is no [destination.{}]", to->text),
                   reading::nearest(to->text, names).value_or(std::string_view{}));
    } else if (std::ranges::find(into.deliver, outlet.to, &inbox::Outlet::to) != into.deliver.end()) {
      inner.reject("to", to->at, fmt::format("{} stands in deliver twice; join its filters with `or`", to->text));
    }
  }
  reading::read_optional(inner, "when", outlet.when, inbox::EventFilter::parse,
                         [](const inbox::EventFilter& filter) { return filter.text(); });
  inner.finish();
  if (found) into.deliver.push_back(std::move(outlet));
}

void read_outlets(reading::TableReader& table, const Config& config, inbox::InboxRules& into) {
  const reading::Node* const value = table.find("deliver");
  table.record("deliver", "[]", value == nullptr ? "[]" : "[...]");
  if (value == nullptr || !table.expect("deliver", *value, reading::NodeKind::array)) return;
  for (const reading::Node& item : value->children) {
    if (table.expect("deliver", item, reading::NodeKind::table)) read_outlet(table, item, config, into);
  }
  if (value->children.empty()) table.reject("deliver", value->at, "deliver is empty, so no handler would get an event");
}

// Without `deliver` the webhook's own upstream is the one destination.
void add_own_destination(const webhook::Webhook& webhook, inbox::HandlerTarget probe, inbox::InboxRules& intake,
                         Config& config) {
  inbox::Destination own;
  own.name = webhook.path.text;
  own.upstream = webhook.target.upstream;
  own.on_unknown = silence_of(webhook.target.policy.on_unknown);
  own.probe = std::move(probe);
  intake.deliver.push_back({.to = config.destinations.size(), .when = std::nullopt});
  config.destinations.push_back(std::move(own));
}

void check_intake(reading::TableReader& table, const webhook::Webhook& webhook, const inbox::InboxRules& intake,
                  const Config& config) {
  for (const inbox::Outlet& outlet : intake.deliver) {
    const inbox::Destination& to = config.destinations[outlet.to];
    if (webhook.target.policy.ttl >= to.schedule.give_up_after) continue;
    table.warn("ttl", fmt::format("ttl is {}, but {} is tried for {}: a late duplicate of an event that still waits "
                                  "would be taken for a new one",
                                  reading::duration_text(webhook.target.policy.ttl), to.name,
                                  reading::duration_text(to.schedule.give_up_after)));
  }
  if (intake.order == inbox::EventOrder::fifo && intake.on_dead == inbox::OnDead::block) {
    table.warn("on_dead",
               "on_dead = \"block\": the events of an object wait behind a dead one until somebody decides; "
               "alert on semel_inbox_deliveries{state=\"dead\"}");
  }
  if (intake.reorder > Millis{0} && intake.order != inbox::EventOrder::fifo) {
    table.warn("reorder", "reorder has no effect without order = \"fifo\"");
  }
}

}  // namespace

inbox::OnSilence silence_of(Policy::OnUnknown on_unknown) {
  if (on_unknown == Policy::OnUnknown::probe) return inbox::OnSilence::probe;
  return on_unknown == Policy::OnUnknown::hold ? inbox::OnSilence::hold : inbox::OnSilence::retry;
}

void read_inbox(reading::Reading& reading, const reading::Node* node, InboxConfig& inbox) {
  reading::TableReader table(reading, node, "inbox");
  const reading::Range<Millis> any{.min = Millis{0}, .max = 3650 * reading::one_day};
  reading::TableReader retain(reading, table.find("retain"), "inbox.retain");
  reading::read_duration(retain, "done", inbox.retain_done, any);
  reading::read_duration(retain, "dead", inbox.retain_dead, any);
  retain.finish();
  table.record("retain", "{...}", "{...}");
  reading::read_bytes(table, "bytes_max", inbox.bytes_max, {.min = 1U << 20U, .max = 1ULL << 50U});
  reading::read_duration(table, "node_beat", inbox.node_beat, {.min = Millis{100}, .max = Millis{600'000}});
  table.finish();
}

void read_destinations(reading::Reading& reading, const reading::Node* node, Config& config) {
  if (node == nullptr) return;
  if (node->kind != reading::NodeKind::table) {
    reading.report.error(node->at, fmt::format("destination must be a table, not {}", reading::kind_name(node->kind)));
    return;
  }
  for (const reading::Node& member : node->children) {
    if (member.kind == reading::NodeKind::table) {
      read_destination(reading, member, config);
    } else {
      reading.report.error(member.name_at,
                           fmt::format("`{}` is directly in [destination]; give the destination a name", member.name),
                           "[destination.billing]");
    }
  }
}

void read_intake(reading::TableReader& table, webhook::Webhook& webhook, Config& config) {
  inbox::InboxRules intake;
  if (webhook.ordered) intake.order = inbox::EventOrder::latest;
  const bool wanted = webhook.delivery == webhook::Delivery::inbox;
  read_outlets(table, config, intake);
  inbox::EventOrder order = inbox::EventOrder::none;
  reading::read_choice(table, "order", order, order_choices);
  if (table.has("order")) intake.order = order;
  reading::read_duration(table, "reorder", intake.reorder, {.min = Millis{0}, .max = Millis{3'600'000}});
  reading::read_choice(table, "on_dead", intake.on_dead, on_dead_choices);
  reading::read_count(table, "depth_max", intake.depth_max, {.min = 1, .max = 4'000'000'000U});
  reading::read_flag(table, "keep_credentials", intake.credentials);
  inbox::HandlerTarget probe;
  read_handler_target(table, "probe", probe);
  for (const std::string_view key :
       {"deliver", "order", "reorder", "on_dead", "depth_max", "keep_credentials", "probe"}) {
    if (!wanted && table.has(key)) table.warn(key, fmt::format("{} has no effect without delivery = \"inbox\"", key));
  }
  if (!wanted) return;
  const bool own = !table.has("deliver");
  if (own) check_probe(table, silence_of(webhook.target.policy.on_unknown), probe);
  if (!own && table.has("probe"))
    table.warn("probe", "probe has no effect with deliver: [destination.NAME] has its own");
  if (intake.deliver.empty()) {
    if (own) add_own_destination(webhook, std::move(probe), intake, config);
  } else if (!table.has("upstream")) {
    webhook.target.upstream = config.destinations[intake.deliver.front().to].upstream;
  }
  webhook.ordered = intake.order != inbox::EventOrder::none;
  check_intake(table, webhook, intake, config);
  webhook.intake = std::move(intake);
}

}  // namespace semel::config
