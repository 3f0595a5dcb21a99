#include "core/eight_bytes.h"

#include <cstddef>
#include <string>

#include <gtest/gtest.h>

namespace semel::core {
namespace {

bool has_control(const std::string& text) {
  return any_byte(text, [](EightBytes eight) { return eight.below(0x20) | eight.equal_to(0x7f); });
}

// One byte that passes the test is found wherever it stands in a text of whatever length, and none where there is none.
TEST(EightBytes, FindAByteAnywhere) {
  for (std::size_t size = 0; size < 40; ++size) {
    EXPECT_FALSE(has_control(std::string(size, ' '))) << size;
    EXPECT_FALSE(has_control(std::string(size, '\xff'))) << size;
    for (std::size_t at = 0; at < size; ++at) {
      for (const char byte : {'\0', '\x1f', '\x7f'}) {
        std::string text(size, '\x80');
        text[at] = byte;
        EXPECT_TRUE(has_control(text)) << size << " " << at;
      }
    }
  }
}

// Each of the 256 bytes is judged as one compared by itself would be.
TEST(EightBytes, JudgeEveryByteRight) {
  for (int value = 0; value < 256; ++value) {
    const std::string text(9, static_cast<char>(value));
    EXPECT_EQ(has_control(text), value < 0x20 || value == 0x7f) << value;
    EXPECT_EQ(any_byte(text, [](EightBytes eight) { return eight.equal_to(':'); }), value == ':') << value;
    EXPECT_EQ(any_byte(text, [](EightBytes eight) { return eight.not_ascii(); }), value >= 0x80) << value;
  }
}

}  // namespace
}  // namespace semel::core
