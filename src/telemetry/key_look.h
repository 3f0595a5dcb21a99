// What the text of a key looks like: whether somebody could guess it, or whether it tells who is asking.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <semel/clock.h>

namespace semel::telemetry {

enum class KeyShape : std::uint8_t {
  opaque,    // nothing is wrong with it
  brief,     // under eight characters
  numbered,  // ends in a number, such as order-1001; guessable if the numbers follow each other
  clock,     // a date, or a time in seconds or finer
  personal,  // an e-mail address or a telephone number
};
inline constexpr std::size_t key_shapes = 5;

struct KeyLook {
  KeyShape shape = KeyShape::opaque;
  std::uint64_t number = 0;  // of a numbered one
};

// `now` tells a number that is a time from another one.
KeyLook look_at_key(std::string_view text, Time now);

}  // namespace semel::telemetry
