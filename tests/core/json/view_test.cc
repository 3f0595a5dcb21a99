// Values of a document by their place in its text.
#include "core/json/view.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace semel::core::json {
namespace {

// Names are decoded, and values are as they are written, whatever stands around them.
TEST(JsonView, FindsMembersAndElements) {
  const JsonView view(" {\"a\" : [1, {\"x\":\"]}\"} ,\"\\\"\"],\n\"b\\u0041\":{}, \"c\":-1.5e3,\"d\":null } ");
  std::vector<std::string> found;
  view.members([&](std::string_view name, JsonView value) {
    found.push_back(std::string(name) + "=" + std::string(value.raw()));
    return true;
  });
  EXPECT_EQ(found, (std::vector<std::string>{"a=[1, {\"x\":\"]}\"} ,\"\\\"\"]", "bA={}", "c=-1.5e3", "d=null"}));
  std::vector<std::string> elements;
  JsonView(R"([1 , [2,[]], "a,b" ,{"c":[3]}])").elements([&](JsonView value) {
    elements.emplace_back(value.raw());
    return true;
  });
  EXPECT_EQ(elements, (std::vector<std::string>{"1", "[2,[]]", "\"a,b\"", "{\"c\":[3]}"}));
}

// Nothing is found in what is empty, and a reader that has enough is not called again.
TEST(JsonView, StopsWhereItIsTold) {
  int calls = 0;
  const auto count = [&](auto&&...) {
    ++calls;
    return false;
  };
  JsonView("{}").members(count);
  JsonView(" [ ] ").elements(count);
  EXPECT_EQ(calls, 0);
  JsonView("[1,2,3]").elements(count);
  EXPECT_EQ(calls, 1);
}

// Every escape, also of characters beyond the first plane.
TEST(JsonView, DecodesStrings) {
  EXPECT_EQ(JsonView(R"("a\"\\\/\b\f\n\r\tz")").text(), "a\"\\/\b\f\n\r\tz");
  EXPECT_EQ(JsonView(R"("\u0041\u00e9\u20ac\ud83d\ude00")").text(), "A\u00e9\u20ac\U0001F600");
  EXPECT_EQ(JsonView("\"\u20ac\"").text(), "\u20ac");
}

// A number that is not whole, or too large, is none.
TEST(JsonView, ReadsWholeNumbers) {
  EXPECT_EQ(JsonView("-12").whole(), -12);
  EXPECT_EQ(JsonView("9223372036854775807").whole(), 9223372036854775807);
  for (const char* const text : {"1.0", "1e3", "9223372036854775808", "\"1\"", "null", "[1]"}) {
    EXPECT_FALSE(JsonView(text).whole()) << text;
  }
}

// Of text that is not JSON it says something, and reads nothing beyond the end.
TEST(JsonView, IsHarmlessOnOtherText) {
  for (const char* const text : {"", "{", "[", "\"", "{\"a", "{\"a\":", "[1,", "\"\\", "\"\\u00", "{]}", "}"}) {
    const JsonView view(text);
    const auto go_on = [](auto&&...) { return true; };
    view.members(go_on);
    view.elements(go_on);
    EXPECT_LE(view.text().size(), 8U);
  }
}

}  // namespace
}  // namespace semel::core::json
