// What the text of a key looks like, and which members of two bodies differ.

#include "telemetry/key_look.h"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "telemetry/member_prints.h"

namespace semel::telemetry {
namespace {

using namespace std::chrono_literals;
constexpr Time now = Time{std::chrono::sys_days{std::chrono::year{2026} / 11 / 17}} + 14h;

// Each kind of key is told from the others; what good clients use is opaque.
TEST(KeyLook, TellsShapes) {
  struct Case {
    const char* text;
    KeyShape shape;
  };
  const Case cases[]{
      {"8e03978e-40d5-43e8-bc93-6894a57f9324", KeyShape::opaque},
      {"8e03978e40d543e8bc936894a57f9324", KeyShape::opaque},
      {"01JCXW8ZK3F7Q2V9H5T6R4M1NB", KeyShape::opaque},
      {"KG5LxwFBepaKHyUD", KeyShape::opaque},
      {"order-8f3a9c1d", KeyShape::opaque},
      {"pay_2026_8f3a9c1d4e", KeyShape::opaque},
      {"1a2b3c4d5e6f7081", KeyShape::opaque},
      {"12345678901234567890", KeyShape::opaque},  // no count of anything
      {"x", KeyShape::brief},
      {"test", KeyShape::brief},
      {"a1b2c3d", KeyShape::brief},
      {"17", KeyShape::numbered},
      {"order-1001", KeyShape::numbered},
      {"INV_7", KeyShape::numbered},
      {"tenant/orders#42", KeyShape::numbered},
      {"1794924000", KeyShape::clock},
      {"1794924000123", KeyShape::clock},
      {"1794924000123456", KeyShape::clock},
      {"1794924000123456789", KeyShape::clock},
      {"2026-11-17T14:02:11.123Z", KeyShape::clock},
      {"2026-11-17", KeyShape::clock},
      {"20261117T140211Z", KeyShape::clock},
      {"anna@example.com", KeyShape::personal},
      {"order:anna.b@mail.example.org", KeyShape::personal},
      {"+49 171 1234567", KeyShape::personal},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(look_at_key(each.text, now).shape, each.shape) << each.text;
  }
  EXPECT_EQ(look_at_key("order-1001", now).number, 1001U);
  EXPECT_EQ(look_at_key("", now).shape, KeyShape::brief);
  EXPECT_EQ(look_at_key("9", now).number, 9U);
}

// Bodies are compared member by member; what is not an object has no members.
TEST(MemberPrints, TellWhichMembersDiffer) {
  using Names = std::vector<std::string>;
  const auto differing = [](const char* one, const char* other) {
    return differing_members(member_prints(one), member_prints(other));
  };
  EXPECT_EQ(differing(R"({"a":1,"sent_at":"10:00"})", R"({"sent_at":"10:01","a":1})"), Names{"sent_at"});
  EXPECT_EQ(differing(R"({"a":1})", R"({"a":1,"b":[1,{"c":2}]})"), Names{"b"});
  EXPECT_EQ(differing(R"(  {"a":{"x":[1,2]},"b":2})", R"({"a":{"x":[1,3]},"b":3})"), (Names{"a", "b"}));
  EXPECT_EQ(differing(R"({"a":1})", R"({"a":1})"), Names{});
  EXPECT_TRUE(member_prints("[1,2]").empty());
  EXPECT_TRUE(member_prints("").empty());
  EXPECT_TRUE(member_prints("a=1&b=2").empty());
  std::string large = "{";
  for (int i = 0; i < 1'000; ++i) large += "\"m" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  EXPECT_EQ(member_prints(large + "\"end\":1}").size(), member_prints_max);
  EXPECT_LE(member_prints("{\"a\":").size(), 1U);
}

}  // namespace
}  // namespace semel::telemetry
