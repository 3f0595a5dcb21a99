// Random JSON documents, and documents that differ from a given one in exactly one place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "support/json_reference.h"
#include "support/json_speller.h"

namespace semel::test {

// Characters on which spellings and orders differ: those with escapes of their own, the ends of the lengths of UTF-8,
// and those that UTF-16 sorts in another order than UTF-8 does (U+E000 to U+FFFF against U+10000 and above).
inline std::u32string any_string(Chance& chance) {
  static const std::u32string alphabet =
      U"abcAB01\"\\/\b\f\n\r\t \x7F\x80\u00E9\u07FF\u0800\u20AC\uD7FF\uE000\uFFFD\uFFFF\U00010000\U0001F602\U0010FFFF";
  std::u32string text;
  for (std::uint32_t size = chance(chance(8) == 0 ? 40 : 6); size > 0; --size) {
    const std::uint32_t pick = chance(static_cast<std::uint32_t>(alphabet.size()) + 2);
    text.push_back(pick < alphabet.size() ? alphabet[pick] : static_cast<char32_t>(chance(0x20)));
  }
  return text;
}

inline Decimal any_number(Chance& chance) {
  Decimal number{.negative = chance(2) == 0, .digits = {}, .exponent = 0};
  if (chance(8) == 0) return number;
  number.digits.push_back("123456789"[chance(9)]);
  for (std::uint32_t size = chance(chance(4) == 0 ? 30 : 5); size > 0; --size) {
    number.digits.push_back("0123456789"[chance(10)]);
  }
  while (number.digits.back() == '0') number.digits.pop_back();
  const std::uint32_t reach = chance(8) == 0 ? 9'990 : 25;
  number.exponent = static_cast<long>(chance(2 * reach)) - static_cast<long>(reach);
  return number;
}

inline Json any_json(Chance& chance, int depth = 0) {
  Json json{.type = static_cast<JsonType>(chance(depth < 5 ? 7 : 5))};
  if (json.type == JsonType::number) json.number = any_number(chance);
  if (json.type == JsonType::string) json.string = any_string(chance);
  if (json.type == JsonType::array) {
    for (std::uint32_t size = chance(5); size > 0; --size) json.elements.push_back(any_json(chance, depth + 1));
  }
  if (json.type == JsonType::object) {
    for (std::uint32_t size = chance(8); size > 0; --size) {
      json.members.insert_or_assign(any_string(chance), any_json(chance, depth + 1));
    }
  }
  return json;
}

// Makes a leaf (a scalar or an empty container) into something else.
inline void change_leaf(Json& leaf, Chance& chance) {
  const bool other_type = chance(4) == 0;
  if (!other_type && leaf.type == JsonType::number) {
    switch (chance(leaf.number.digits.empty() ? 1 : 3)) {
      case 0:
        leaf.number.negative = !leaf.number.negative;
        break;
      case 1:
        leaf.number.exponent += leaf.number.exponent > 0 ? -1 : 1;
        break;
      default:
        leaf.number.digits.push_back('1');
    }
  } else if (!other_type && leaf.type == JsonType::string) {
    leaf.string.insert(chance(static_cast<std::uint32_t>(leaf.string.size()) + 1), 1, U'x');
  } else {
    Json changed{.type = static_cast<JsonType>((static_cast<std::uint32_t>(leaf.type) + 1 + chance(6)) % 7)};
    leaf = std::move(changed);
  }
}

// Changes one leaf, or the name of one member, or adds or removes an element.
inline void change_something(Json& json, Chance& chance) {
  if (json.type == JsonType::array && !json.elements.empty()) {
    const auto at = json.elements.begin() + chance(static_cast<std::uint32_t>(json.elements.size()));
    switch (chance(8)) {
      case 0:
        json.elements.erase(at);
        return;
      case 1:
        json.elements.insert(at, Json{.type = JsonType::null});
        return;
      default:
        return change_something(*at, chance);
    }
  }
  if (json.type == JsonType::object && !json.members.empty()) {
    const auto at = std::next(json.members.begin(), chance(static_cast<std::uint32_t>(json.members.size())));
    if (chance(8) != 0) return change_something(at->second, chance);
    auto member = json.members.extract(at);
    if (chance(2) == 0) return;  // removed
    do {
      member.key().push_back(U'x');
    } while (json.members.contains(member.key()));
    json.members.insert(std::move(member));
    return;
  }
  change_leaf(json, chance);
}

}  // namespace semel::test
