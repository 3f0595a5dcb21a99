#include "inbox/verdict.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ascii.h"
#include "core/field_view.h"
#include "inbox/schedule.h"
#include <semel/clock.h>

namespace semel::inbox {
namespace {

constexpr std::array<std::uint16_t, 4> failing_statuses{429, 502, 503, 504};
constexpr std::array<std::uint16_t, 3> busy_statuses{408, 425, 429};

std::optional<std::string_view> field_of(std::span<const FieldView> fields, std::string_view name) {
  for (const FieldView& field : fields) {
    if (core::equal_ignoring_case(field.name, name)) return core::trimmed(field.value);
  }
  return std::nullopt;
}

bool is_busy(std::uint16_t status) {
  return std::ranges::find(busy_statuses, status) != busy_statuses.end();
}

std::optional<DeliveryFate> said_fate(std::span<const FieldView> fields) {
  const auto said = field_of(fields, "Semel-Outcome");
  if (!said) return std::nullopt;
  if (core::equal_ignoring_case(*said, "store")) return DeliveryFate::done;
  if (core::equal_ignoring_case(*said, "release")) return DeliveryFate::later;
  if (core::equal_ignoring_case(*said, "unknown")) return DeliveryFate::unknown;
  if (core::equal_ignoring_case(*said, "dead")) return DeliveryFate::dead;
  return std::nullopt;
}

DeliveryFate fate_of(std::uint16_t status, const std::vector<std::uint16_t>& fatal) {
  if (status >= 200 && status < 300) return DeliveryFate::done;
  return std::ranges::find(fatal, status) != fatal.end() ? DeliveryFate::dead : DeliveryFate::later;
}

}  // namespace

Ruling rule_answer(std::uint16_t status, std::span<const FieldView> fields, const std::vector<std::uint16_t>& fatal,
                   Time now) {
  Ruling ruling;
  const std::optional<DeliveryFate> said = said_fate(fields);
  ruling.fate = said.value_or(fate_of(status, fatal));
  const bool failing = std::ranges::find(failing_statuses, status) != failing_statuses.end();
  if (failing && !said) ruling.health = Health::failing;
  ruling.gone = status == 410 && !said && ruling.fate == DeliveryFate::later;
  ruling.hopeless = !said && status < 500 && !is_busy(status);
  if (status >= 500 || status == 429) {
    if (const auto value = field_of(fields, "Retry-After")) ruling.retry_after = parse_retry_after(*value, now);
  }
  return ruling;
}

Ruling rule_silence(Silence silence) {
  return {.fate = silence == Silence::not_reached ? DeliveryFate::later : DeliveryFate::unknown,
          .health = Health::failing};
}

std::string silence_text(Silence silence) {
  switch (silence) {
    case Silence::not_reached:
      return "not reached";
    case Silence::timed_out:
      return "no answer in time";
    case Silence::lost:
      break;
  }
  return "connection lost";
}

}  // namespace semel::inbox
