// Bytes as hexadecimal digits and back.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace semel::test {

template <class Bytes>
std::string to_hex(const Bytes& bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const auto byte : bytes) {
    text.push_back(digits[(static_cast<unsigned>(byte) >> 4U) & 15U]);
    text.push_back(digits[static_cast<unsigned>(byte) & 15U]);
  }
  return text;
}

inline std::string from_hex(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

}  // namespace semel::test
