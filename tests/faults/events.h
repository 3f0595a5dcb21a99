// What the hammer tells the driver, one line per event, and what both can work out from a number alone.
//
//   try  <op> <key> <number> <owner>      before a call: from now on it may have been applied
//   ok   <op> <key> <number> <owner>      after its answer: it must survive
//   held <state> <key> <number> <owner>   what a claim found instead
//   said <code> <text…>                   an error; the text is the store's
//
// The lines go through a pipe, so what was written before a kill is not lost. Keys are numbers; a response is made from
// the key and the fence, so any stored response can be checked without having been told of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <semel/key.h>
#include <semel/response.h>
#include <semel/store.h>

namespace semel::faults {

enum class Op : char { claim = 'c', complete = 'd', unknown = 'u', release = 'r' };

inline std::uint64_t mix(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

inline Key key_of(std::uint64_t number) {
  return *make_key("faults", "", std::to_string(number));
}

// A quarter of the keys may be taken over, and their leases lapse while the hammer runs.
inline bool taken_over(std::uint64_t key) {
  return key % 4 == 0;
}
inline constexpr Millis short_lease{25};
inline constexpr Millis long_lease{3'600'000};

inline SharedResponse response_of(std::uint64_t key, Fence fence) {
  auto response = std::make_shared<Response>();
  response->status = 201;
  response->fields = {{"Content-Type", "text/plain"}};
  const std::uint64_t seed = mix(key ^ mix(fence.number ^ mix(fence.owner)));
  const std::size_t size = 64 + (seed % 16 == 0 ? 20'000 : seed % 700);
  for (std::uint64_t i = 0; response->body.size() < size; ++i) response->body += std::to_string(mix(seed + i));
  return response;
}

}  // namespace semel::faults
