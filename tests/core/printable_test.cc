// What others chose reaches a terminal as text, and as nothing else.
#include "core/printable.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace semel::core {
namespace {

TEST(Printable, LeavesText) {
  for (const std::string_view text : {"", "charge.succeeded", "Zahlung für Łódź", "支払い", "\U0001F600 \\x1b"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, EscapesWhatActsOnATerminal) {
  using namespace std::string_view_literals;
  const std::vector<std::pair<std::string_view, std::string_view>> table{
      {"\x1b[2J\x1b]0;title\x07"sv, R"(\x1b[2J\x1b]0;title\x07)"},
      {"a\nb\r\tc\0d\x7f"sv, R"(a\x0ab\x0d\x09c\x00d\x7f)"},
      {"\u009b2J"sv, R"(\xc2\x9b2J)"},                          // the same as ESC [
      {"\x9b\xff and \xe2\x80"sv, R"(\x9b\xff and \xe2\x80)"},  // no UTF-8
      {"a\u202egpj.exe\u2066b"sv, R"(a\xe2\x80\xaegpj.exe\xe2\x81\xa6b)"},
      {"\u2028\u2029\u200e\u200f\u061c"sv, R"(\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c)"},
  };
  for (const auto& [text, shown] : table) EXPECT_EQ(printable(text), shown);
}

// A beginning ends between two characters.
TEST(Printable, CutsWhatIsLong) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdefg", 6), "abcdef...");
  EXPECT_EQ(printable("abcdeüg", 6), "abcde...");
  EXPECT_EQ(printable(std::string(10, '\n'), 2), R"(\x0a\x0a...)");
}

}  // namespace
}  // namespace semel::core
