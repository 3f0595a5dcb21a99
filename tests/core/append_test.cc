// Several parts at once are what they are one after the other.
#include "core/append.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace semel::core {
namespace {

// Goal: whatever room the string has, its bytes stay, the parts follow in their order, and empty ones leave nothing.
TEST(Append, AddsAllPartsBehindWhatIsThere) {
  std::string out;
  std::string expected;
  for (std::size_t size = 0; size < 300; ++size) {
    const std::string text(size % 41, static_cast<char>('a' + size % 26));
    append_all(out, std::string_view(text), ':', std::string_view(), std::string_view("\0x", 2), '\n');
    expected.append(text).append(":").append("\0x", 2).append("\n");
    ASSERT_EQ(out, expected);
  }
}

}  // namespace
}  // namespace semel::core
