// Tests eight bytes at a time: every byte of every message is tested.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace semel::core {

// Each test sets the highest bit of the bytes that pass it. It is exact about whether there is any.
struct EightBytes {
  std::uint64_t bytes;

  static constexpr std::uint64_t each = 0x0101'0101'0101'0101;
  static constexpr std::uint64_t highest = each * 0x80;

  [[nodiscard]] constexpr std::uint64_t below(unsigned char limit) const {
    return (bytes - each * limit) & ~bytes & highest;
  }
  [[nodiscard]] constexpr std::uint64_t equal_to(char c) const {
    return EightBytes{bytes ^ each * static_cast<unsigned char>(c)}.below(1);
  }
  [[nodiscard]] constexpr std::uint64_t not_ascii() const { return bytes & highest; }
};

// Fewer than eight: the rest are letters.
inline EightBytes few_bytes(const char* from, std::size_t count) {
  if (count >= 4) {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::memcpy(&first, from, 4);
    std::memcpy(&last, from + count - 4, 4);
    return {first | std::uint64_t{last} << 32U};
  }
  std::uint64_t bytes = EightBytes::each * 'a';
  for (std::size_t i = 0; i < count; ++i) bytes = bytes << 8U | static_cast<unsigned char>(from[i]);
  return {bytes};
}

template <class Test>
bool any_byte(std::string_view text, Test test) {
  constexpr std::size_t step = sizeof(std::uint64_t);
  if (text.size() < step) return test(few_bytes(text.data(), text.size())) != 0;
  std::uint64_t found = 0;
  EightBytes next{};
  for (std::size_t at = 0; at + step <= text.size(); at += step) {
    std::memcpy(&next.bytes, text.data() + at, step);
    found |= test(next);
  }
  std::memcpy(&next.bytes, text.data() + text.size() - step, step);  // the rest, some of it a second time
  return (found | test(next)) != 0;
}

}  // namespace semel::core
