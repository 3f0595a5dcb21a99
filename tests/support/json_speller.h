// Writes one JSON document in many ways.
//
// Where JSON leaves a choice (member order, white space, escapes, how a number is spelled) `Chance` makes it: a seeded
// generator in tests, the input's own bytes in fuzz targets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/json_reference.h"

namespace semel::test {

// A number below the given one, which is at least 1.
using Chance = std::function<std::uint32_t(std::uint32_t)>;

inline Chance seeded(std::uint64_t seed) {
  return [engine = std::mt19937_64(seed)](std::uint32_t below) mutable {
    return static_cast<std::uint32_t>(engine() % below);
  };
}

class JsonSpeller {
 public:
  explicit JsonSpeller(Chance& chance) : chance_(chance) {}

  std::string spell(const Json& json) {
    switch (json.type) {
      case JsonType::null:
        return "null";
      case JsonType::no:
        return "false";
      case JsonType::yes:
        return "true";
      case JsonType::number:
        return number(json.number);
      case JsonType::string:
        return string(json.string);
      case JsonType::array:
        return array(json);
      case JsonType::object:
        return object(json);
    }
    return {};
  }

 private:
  bool maybe(std::uint32_t one_in) { return chance_(one_in) == 0; }

  std::string space() {
    std::string run;
    while (maybe(4)) run.push_back(" \t\r\n"[chance_(4)]);
    return run;
  }

  std::string array(const Json& json) {
    std::string text = "[" + space();
    for (std::size_t i = 0; i < json.elements.size(); ++i) {
      text += (i == 0 ? "" : "," + space()) + spell(json.elements[i]) + space();
    }
    return text + "]";
  }

  std::string object(const Json& json) {
    std::vector<const std::pair<const std::u32string, Json>*> order;
    for (const auto& member : json.members) order.push_back(&member);
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[chance_(static_cast<std::uint32_t>(i))]);
    std::string text = "{" + space();
    for (std::size_t i = 0; i < order.size(); ++i) {
      text += (i == 0 ? "" : "," + space()) + string(order[i]->first) + space() + ":" + space();
      text += spell(order[i]->second) + space();
    }
    return text + "}";
  }

  // value = digits × 10^exponent; zeros are added behind, a point is set somewhere, and the exponent makes up for both.
  std::string number(const Decimal& decimal) {
    std::string digits = decimal.digits;
    long exponent = decimal.exponent;
    if (digits.empty()) {
      digits = "0";
      exponent = static_cast<long>(chance_(40)) - 20;  // of no effect
    } else {
      for (std::uint32_t zeros = chance_(4); zeros > 0; --zeros) digits += '0', --exponent;
    }
    const std::size_t size = digits.size();
    std::size_t behind_point = maybe(2) ? 0 : chance_(static_cast<std::uint32_t>(size) + 1);
    // An exponent that a point can express is often left out.
    if (exponent < 0 && exponent >= -30 && maybe(2)) behind_point = static_cast<std::size_t>(-exponent);
    std::string whole = behind_point < size ? digits.substr(0, size - behind_point) : "0";
    std::string fraction =
        behind_point < size ? digits.substr(size - behind_point) : std::string(behind_point - size, '0') + digits;
    exponent += static_cast<long>(behind_point);
    std::string text = (decimal.negative ? "-" : "") + whole;
    if (behind_point > 0) text += "." + fraction;
    if (exponent == 0 && !maybe(6)) return text;
    text += maybe(2) ? 'e' : 'E';
    if (exponent < 0) {
      text += '-';
    } else if (maybe(2)) {
      text += '+';
    }
    return text + std::string(chance_(3), '0') + std::to_string(std::abs(exponent));
  }

  std::string string(const std::u32string& text) {
    std::string spelled = "\"";
    for (const char32_t code : text) spelled += character(code);
    return spelled + "\"";
  }

  std::string character(char32_t code) {
    static const std::u32string short_of = U"\"\\/\b\f\n\r\t";
    if (const auto i = short_of.find(code); i != std::u32string::npos && maybe(2)) {
      return {'\\', "\"\\/bfnrt"[i]};
    }
    const bool must = code < 0x20 || code == U'"' || code == U'\\';
    if (!must && !maybe(4)) return utf8(code);
    if (code < 0x10000) return unit(code);
    return unit(0xD800 + ((code - 0x10000) >> 10U)) + unit(0xDC00 + ((code - 0x10000) & 0x3FFU));
  }

  std::string unit(char32_t code) {
    std::string text = "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) {
      text += (maybe(2) ? "0123456789abcdef" : "0123456789ABCDEF")[(code >> shift) & 15U];
    }
    return text;
  }

  static std::string utf8(char32_t code) {
    const auto tail = [&](unsigned shift) { return static_cast<char>(0x80U | ((code >> shift) & 0x3FU)); };
    if (code < 0x80) return {static_cast<char>(code)};
    if (code < 0x800) return {static_cast<char>(0xC0U | (code >> 6U)), tail(0)};
    if (code < 0x10000) return {static_cast<char>(0xE0U | (code >> 12U)), tail(6), tail(0)};
    return {static_cast<char>(0xF0U | (code >> 18U)), tail(12), tail(6), tail(0)};
  }

  Chance& chance_;
};

}  // namespace semel::test
