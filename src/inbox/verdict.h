// What an attempt at a destination came to, and what follows from it.
//
//   2xx                                done
//   408, 425, 429, 5xx                 later      Retry-After is heard
//   not reached, reset, no answer      later, or unknown if a byte had gone out and the destination holds
//   410                                later, and the destination is paused: it says that it is gone
//   other 4xx, 3xx                     later, but not soon: a deploy may mend it
//   a status in `fatal`                dead
//
// `Semel-Outcome: store | release | unknown | dead` in the answer decides instead.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/field_view.h"
#include <semel/clock.h>

namespace semel::inbox {

enum class DeliveryFate : std::uint8_t {
  done,
  later,
  dead,
  unknown,  // it may have taken effect
};

// What the destination's own health has to do with it.
enum class Health : std::uint8_t {
  well,     // it answered for itself
  failing,  // not reached, no answer in time, 429, 502, 503, 504: counts for the breaker
};

struct Ruling {
  DeliveryFate fate = DeliveryFate::later;
  Health health = Health::well;
  bool hopeless = false;                // see FailedAttempt
  bool gone = false;                    // the destination is to be paused
  std::optional<Millis> retry_after{};  // that it asked for
};

// How an attempt ended without an answer.
enum class Silence : std::uint8_t {
  not_reached,  // not one byte went out
  timed_out,
  lost,
};

Ruling rule_answer(std::uint16_t status, std::span<const FieldView> fields, const std::vector<std::uint16_t>& fatal,
                   Time now);
Ruling rule_silence(Silence silence);

// For the log and for operators: "503", "not reached", "no answer in time", "connection lost".
std::string silence_text(Silence silence);

}  // namespace semel::inbox
