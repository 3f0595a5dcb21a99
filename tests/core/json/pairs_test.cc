// The table of pairs that must, and must not, be taken for the same request: pairs.txt.
#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "support/hex.h"
#include "support/places.h"
#include <semel/fingerprint.h>

namespace semel::core::json {
namespace {

bool is_byte(std::string_view text) {
  return text.size() == 2 && text.find_first_not_of("0123456789ABCDEF") == std::string_view::npos;
}

// `<09>` is a byte, `<x>*3` is xxx.
std::string expanded(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const std::size_t close = text.find('>');
    if (text.front() != '<' || close == std::string_view::npos) {
      plain.push_back(text.front());
      text.remove_prefix(1);
      continue;
    }
    const std::string_view inside = text.substr(1, close - 1);
    text.remove_prefix(close + 1);
    std::size_t times = 1;
    if (text.starts_with('*')) {
      const std::size_t digits = std::min(text.find_first_not_of("0123456789", 1), text.size()) - 1;
      times = std::stoul(std::string(text.substr(1, digits)));
      text.remove_prefix(1 + digits);
    }
    const std::string unit = is_byte(inside) ? test::from_hex(inside) : std::string(inside);
    for (; times > 0; --times) plain += unit;
  }
  return plain;
}

Fingerprint of(std::string_view body) {
  return fingerprint({.method = "POST", .target = "/", .body = body}, BodyForm::json);
}

// Each pair in the table holds, and in both directions.
TEST(JsonPairs, AreTheSameRequestOnlyIfTheTableSaysSo) {
  std::ifstream table(test::in_tree("tests/core/json/pairs.txt"));
  ASSERT_TRUE(table.is_open());
  constexpr std::string_view equal = " = ";
  constexpr std::string_view different = " ≠ ";
  int same_pairs = 0;
  int different_pairs = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    const bool same = line.contains(equal);
    ASSERT_NE(same, line.contains(different)) << line;
    const std::string_view sign = same ? equal : different;
    const std::size_t at = line.find(sign);
    ASSERT_EQ(at, line.rfind(sign)) << line;
    const std::string left = expanded(line.substr(0, at));
    const std::string right = expanded(line.substr(at + sign.size()));
    EXPECT_EQ(of(left) == of(right), same) << line;
    (same ? same_pairs : different_pairs) += 1;
  }
  std::cout << "pairs.txt: " << same_pairs << " equal and " << different_pairs << " different pairs\n";
  EXPECT_GE(same_pairs, 100);
  EXPECT_GE(different_pairs, 100);
}

}  // namespace
}  // namespace semel::core::json
