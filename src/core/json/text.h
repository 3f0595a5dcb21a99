// How canonical JSON text is written: token by token, into a buffer that is large enough from the start.
//
// Text never grows by more than half: strings do not grow at all, and the number that grows most is `1.5,` (4 bytes),
// which becomes `15e-1,` (6). So one allocation, made before the first byte is read, is enough, and it is enough to
// check before each token that the room left is still that of the source left.
#pragma once

#include <cstddef>

namespace semel::core::json {

// There is always room for this much more after the text, so that short runs can be copied by a fixed size, past their
// end: one instruction, where a copy of the exact size would be a call.
inline constexpr std::size_t json_slack_bytes = 32;

constexpr std::size_t json_room_for(std::size_t source_bytes) {
  return source_bytes + source_bytes / 2 + json_slack_bytes;
}

// Where reading and writing have come to. `in` is null when there was no valid token to read.
struct JsonStep {
  const char* in = nullptr;
  char* out = nullptr;
};

}  // namespace semel::core::json
