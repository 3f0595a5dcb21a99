// What may stand in the head of a message that we write.
#include "http/writer.h"

#include <cstddef>
#include <string>

#include <gtest/gtest.h>

namespace semel::test {
namespace {

bool writes(const std::string& name, const std::string& value) {
  std::string head;
  http::HeadWriter writer = http::HeadWriter::response(head, 200);
  writer.field(name, value);
  EXPECT_EQ(head.find(name + ": " + value + "\r\n") != std::string::npos, writer.sound());
  return writer.sound();
}

// Goal: a byte that could end the line early is noticed wherever it stands, and no other value is turned away.
TEST(HeadWriter, LeavesOutValuesThatEndTheLine) {
  for (std::size_t length = 1; length <= 20; ++length) {
    for (std::size_t at = 0; at < length; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string value(length, 'x');
        value[at] = static_cast<char>(byte);
        EXPECT_EQ(writes("Name", value), byte != '\r' && byte != '\n' && byte != '\0') << byte << " at " << at;
      }
    }
  }
  EXPECT_TRUE(writes("Name", ""));
}

// Goal: a name is made of visible ASCII without a colon, whatever its length.
TEST(HeadWriter, LeavesOutNamesThatAreNone) {
  for (std::size_t length = 1; length <= 20; ++length) {
    for (std::size_t at = 0; at < length; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string name(length, 'x');
        name[at] = static_cast<char>(byte);
        EXPECT_EQ(writes(name, "value"), byte > ' ' && byte < 0x7f && byte != ':') << byte << " at " << at;
      }
    }
  }
  EXPECT_FALSE(writes("", "value"));
}

}  // namespace
}  // namespace semel::test
