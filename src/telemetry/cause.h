// Why an attempt has no outcome that could be kept, in a word for logs and for the desk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace semel::telemetry {

enum class Cause : std::uint8_t {
  none,
  refused,    // there was no connection; nothing was sent
  reset,      // the connection broke, or was closed, before an answer began
  timeout,    // no answer in time, or not all of it
  cut,        // the answer broke off
  malformed,  // what came back is not HTTP
  answer,     // the upstream itself said that it does not know: 502, 504, Semel-Outcome
  store,      // it ran, and its result could not be stored
};

inline std::string_view name(Cause cause) {
  static constexpr std::array<std::string_view, 8> names{"",    "refused",   "reset",  "timeout",
                                                         "cut", "malformed", "answer", "store"};
  return names.at(static_cast<std::size_t>(cause));
}

}  // namespace semel::telemetry
