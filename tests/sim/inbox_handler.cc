#include "sim/inbox_handler.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/field_view.h"
#include "inbox/verdict.h"

namespace semel::sim {
namespace {

constexpr Millis timeout{5'000};

HandlerTurn silent(inbox::Silence silence, Millis takes) {
  HandlerTurn turn{.takes = takes, .answer = {}};
  turn.answer.ruling = inbox::rule_silence(silence);
  turn.answer.why = inbox::silence_text(silence);
  return turn;
}

HandlerTurn says(InboxWorld& world, const SimDestination& to, std::uint16_t status,
                 const std::vector<FieldView>& fields) {
  HandlerTurn turn{.takes = world.random.up_to(world.setup.answers_after_max), .answer = {}};
  turn.answer.status = status;
  turn.answer.ruling = inbox::rule_answer(status, fields, to.rules.fatal, world.now());
  turn.answer.why = "answered " + std::to_string(status);
  return turn;
}

bool is_down(const HandlerMood& mood, Time now) {
  const auto within = [&](const auto& span) { return span.first <= now && now < span.second; };
  return std::ranges::any_of(mood.down, within);
}

}  // namespace

HandlerTurn draw_turn(InboxWorld& world, const SimDestination& destination, bool poison) {
  const HandlerMood& mood = destination.mood;
  if (is_down(mood, world.now())) return silent(inbox::Silence::not_reached, Millis{1});
  if (poison) return says(world, destination, 500, {});
  if (world.strikes(mood.silent)) {
    const bool timed_out = world.random.chance(5'000);
    return silent(timed_out ? inbox::Silence::timed_out : inbox::Silence::lost, timed_out ? timeout : Millis{50});
  }
  if (world.strikes(mood.fails)) return says(world, destination, 500, {});
  if (world.strikes(mood.busy)) {
    const std::string seconds = std::to_string(world.random.between(1, 30));
    return says(world, destination, 503, {{.name = "Retry-After", .value = seconds}});
  }
  if (world.strikes(mood.refuses)) return says(world, destination, 404, {});
  if (world.strikes(mood.gone)) return says(world, destination, 410, {});
  if (world.strikes(mood.fatal)) return says(world, destination, 422, {});
  if (world.strikes(mood.says)) {
    constexpr std::string_view words[] = {"store", "release", "unknown", "dead"};
    return says(world, destination, 500, {{.name = "Semel-Outcome", .value = world.random.pick(words)}});
  }
  return says(world, destination, 200, {});
}

}  // namespace semel::sim
