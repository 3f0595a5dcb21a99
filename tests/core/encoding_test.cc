#include "core/encoding.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace semel::core {
namespace {

// The vectors of RFC 4648 §10.
TEST(Encoding, WritesWhatTheStandardShows) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases{
      {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
  EXPECT_EQ(to_hex("foobar"), "666f6f626172");
  EXPECT_EQ(from_hex("666F6f626172"), "foobar");
  EXPECT_EQ(to_base64("\xfb\xff", Base64::url), "-_8");
  EXPECT_EQ(from_base64("-_8", Base64::url), "\xfb\xff");
}

// Whatever is written is read again as the same bytes.
TEST(Encoding, ReadsWhatItWrites) {
  EXPECT_TRUE(rc::check([](const std::string& bytes) {
    RC_ASSERT(from_hex(to_hex(bytes)) == bytes);
    RC_ASSERT(from_base64(to_base64(bytes)) == bytes);
    RC_ASSERT(from_base64(to_base64(bytes, Base64::url), Base64::url) == bytes);
  }));
}

// Anything but digits of the alphabet is refused, and so are bits that stand for nothing.
TEST(Encoding, RefusesWhatIsNotItsAlphabet) {
  for (const std::string_view text : {"6", "6g", "0x66", " 66", "66\n", "-1"})
    EXPECT_EQ(from_hex(text), std::nullopt) << text;
  for (const std::string_view text :
       {"Z", "Zg=", "=", "====", "Zg==Zg==", "Z===", "Zh==", "Zm9v\n", "Zm 9v", "-_8=", "Zm9=v"}) {
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
  }
  EXPECT_EQ(from_base64("+/8", Base64::url), std::nullopt);
  EXPECT_EQ(from_base64("Zg"), "f");
}

}  // namespace
}  // namespace semel::core
