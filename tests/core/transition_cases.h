// Everything that can be stored under a key when a call comes, for the tests of the state machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <semel/store.h>

namespace semel::test {

inline constexpr Time now{Millis{1'000'000}};
inline constexpr Millis tick{1};
inline constexpr std::uint64_t holder = 7;
inline constexpr Fence held_fence{.number = 3, .owner = holder};

// What lies under the key when the call comes. `expired_*` are records of that state past their expiry.
enum class Stored : std::uint8_t {
  absent,
  running,
  running_past_expiry,
  lapsed,
  done,
  unknown,
  released,
  expired_lapsed,
  expired_done,
  expired_unknown,
  expired_released,
};

inline const char* name(Stored stored) {
  // clang-format off
  constexpr const char* names[] = {
      "Absent", "Running", "RunningPastExpiry", "Lapsed", "Done", "Unknown", "Released",
      "ExpiredLapsed", "ExpiredDone", "ExpiredUnknown", "ExpiredReleased"};
  // clang-format on
  return names[static_cast<std::size_t>(stored)];
}

inline Key key_of(std::uint8_t first) {
  Key key;
  key.id[0] = first;
  key.space = "api";
  return key;
}

inline Fingerprint fingerprint_of(std::uint8_t first) {
  Fingerprint fingerprint;
  fingerprint.digest[0] = first;
  return fingerprint;
}

inline SharedResponse answer(std::string body) {
  return std::make_shared<const Response>(
      Response{.status = 201, .fields = {{"Location", "/1"}}, .body = std::move(body), .body_kept = true});
}

inline Record::State state_of(Stored stored) {
  switch (stored) {
    case Stored::done:
    case Stored::expired_done:
      return Record::State::done;
    case Stored::unknown:
    case Stored::expired_unknown:
      return Record::State::unknown;
    case Stored::released:
    case Stored::expired_released:
      return Record::State::released;
    default:
      return Record::State::running;
  }
}

inline std::optional<Record> record_of(Stored stored) {
  if (stored == Stored::absent) return std::nullopt;
  const bool past_expiry = stored >= Stored::expired_lapsed || stored == Stored::running_past_expiry;
  const bool lease_over = stored == Stored::lapsed || stored == Stored::expired_lapsed;
  Record record{.key = key_of(1),
                .state = state_of(stored),
                .fence = held_fence,
                .fingerprint = fingerprint_of(9),
                .claimed_at = now - Millis{500},
                .lease_until = lease_over ? now : now + Millis{30},
                .expires_at = past_expiry ? now : now + Millis{70},
                .response = nullptr};
  if (record.state == Record::State::done) record.response = answer("kept");
  return record;
}

inline Terms terms(Terms::Lapsed lapsed = Terms::Lapsed::stands, std::uint64_t owner = holder + 1) {
  Terms terms;
  terms.lease = Millis{40};
  terms.ttl = Millis{90};
  terms.lapsed = lapsed;
  terms.owner = owner;
  return terms;
}

inline const Record* pointer(const std::optional<Record>& record) {
  return record ? &*record : nullptr;
}

}  // namespace semel::test
