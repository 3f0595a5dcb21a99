// What the canonical form looks like, and which documents have none.
#include "core/json/canonical.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pthread.h>

#include <gtest/gtest.h>

#include <semel/fingerprint.h>

namespace semel::core::json {
namespace {

std::string canonical(std::string_view body, const std::vector<std::string>& ignore = {}) {
  return canonical_json(body, *IgnoreList::parse(ignore)).value_or("nothing");
}

std::string repeated(std::string_view part, std::size_t times) {
  std::string text;
  text.reserve(part.size() * times);
  while (times-- > 0) text += part;
  return text;
}

// Member order and white space are the client's taste, at every depth.
TEST(CanonicalJson, SortsMembersAndDropsWhiteSpace) {
  EXPECT_EQ(canonical("\t{ \"b\" : [ 1 , { } ] ,\r\n \"a\" : null } \n"), R"({"a":null,"b":[1,{}]})");
  EXPECT_EQ(canonical(R"({"c":{"z":1,"y":{"q":[],"p":{}}},"b":2,"a":{"x":1,"w":2}})"),
            R"({"a":{"w":2,"x":1},"b":2,"c":{"y":{"p":{},"q":[]},"z":1}})");
}

// An array is a sequence: its order is part of the document, while the objects in it are sorted.
TEST(CanonicalJson, KeepsTheOrderOfArrays) {
  EXPECT_EQ(canonical(R"([3,1,2,{"b":1,"a":2},[2,1]])"), R"([3,1,2,{"a":2,"b":1},[2,1]])");
}

// The order of names is by bytes, shorter first; names of eight bytes and more are where a shortcut could go wrong.
TEST(CanonicalJson, SortsNamesByTheirBytes) {
  EXPECT_EQ(canonical(R"({"b":1,"ab":2,"a":3,"":4})"), R"({"":4,"a":3,"ab":2,"b":1})");
  EXPECT_EQ(canonical(R"({"12345678b":1,"12345678":2,"12345678a":3,"1234567":4,"123456789":5})"),
            R"({"1234567":4,"12345678":2,"123456789":5,"12345678a":3,"12345678b":1})");
  EXPECT_EQ(canonical(R"({"1234567 ":1,"1234567":2,"123 ":3,"123":4})"),
            R"({"123":4,"123 ":3,"1234567":2,"1234567 ":1})");
  EXPECT_EQ(canonical("{\"\xEE\x80\x80\":1,\"\xF0\x90\x80\x80\":2,\"z\":3,\"\xC3\xA9\":4}"),
            "{\"z\":3,\"\xC3\xA9\":4,\"\xEE\x80\x80\":1,\"\xF0\x90\x80\x80\":2}");
}

// Only what must be escaped is, and always in the same way.
TEST(CanonicalJson, SpellsStringsInOneWay) {
  EXPECT_EQ(canonical(R"("\u0041\/\u00e9\u20AC\uD83D\uDE02")"), "\"A/\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x82\"");
  EXPECT_EQ(canonical(R"("\u0022\u005C\u0008\u0009\u000A\u000C\u000D\u0000\u001F\u007f")"),
            "\"\\\"\\\\\\b\\t\\n\\f\\r\\u0000\\u001f\x7F\"");
  EXPECT_EQ(canonical(R"({"\u0061":1,"\/":2})"), R"({"/":2,"a":1})");
}

// Runs of plain characters are copied in blocks: every length around a block's, with and without an escape behind it.
TEST(CanonicalJson, CopiesStringsOfEveryLength) {
  for (std::size_t size = 0; size < 70; ++size) {
    const std::string plain = '"' + std::string(size, 'x') + '"';
    EXPECT_EQ(canonical(plain), plain);
    EXPECT_EQ(canonical("[" + plain + "," + plain + "]"), "[" + plain + "," + plain + "]");
    EXPECT_EQ(canonical('"' + std::string(size, 'x') + R"(\u0061é)" + std::string(size, 'y') + '"'),
              '"' + std::string(size, 'x') + "aé" + std::string(size, 'y') + '"');
    EXPECT_EQ(canonical('"' + std::string(size, 'x')), "nothing");
    EXPECT_EQ(canonical('"' + std::string(size, 'x') + "\x1F\""), "nothing");
  }
}

// One value, one spelling: digits without zeros at their ends, and an exponent if it is not 0.
TEST(CanonicalJson, SpellsNumbersAsExactDecimals) {
  for (const std::string_view one : {"1", "1.0", "10e-1", "0.1e1", "1E0", "1e+00", "0.00001e5", "100000e-5", "1.000"}) {
    EXPECT_EQ(canonical(one), "1") << one;
  }
  EXPECT_EQ(canonical("[100, 0.25, -12.50, 120e3, 1.5e-7]"), "[1e2,25e-2,-125e-1,12e4,15e-8]");
  EXPECT_EQ(canonical("9007199254740993"), "9007199254740993");
  EXPECT_EQ(canonical("9007199254740992"), "9007199254740992");
  EXPECT_EQ(canonical("333333333.33333329"), "33333333333333329e-8");
}

// Programs differ on whether a negative zero is a zero, so it stays what it is; a zero has no exponent.
TEST(CanonicalJson, KeepsZeroAndItsSign) {
  for (const std::string_view zero : {"0", "0.0", "0e5", "0.000E-12", "0e99999999999999999999"}) {
    EXPECT_EQ(canonical(zero), "0") << zero;
    EXPECT_EQ(canonical("-" + std::string(zero)), "-0") << zero;
  }
}

// Exponents are bounded by value, whatever the spelling, and a literal that overflows every integer is only refused.
TEST(CanonicalJson, BoundsExponents) {
  EXPECT_EQ(canonical("1e9999"), "1e9999");
  EXPECT_EQ(canonical("10e9998"), "1e9999");
  EXPECT_EQ(canonical("0.001e10002"), "1e9999");
  EXPECT_EQ(canonical("1e-9999"), "1e-9999");
  EXPECT_EQ(canonical("1" + std::string(9'999, '0')), "1e9999");
  EXPECT_EQ(canonical("0." + std::string(20'000, '0') + "1e20001"), "1");
  for (const std::string_view far : {"1e10000", "10e9999", "1e-10000", "0.1e-9999", "1e99999999999999999999",
                                     "1e-99999999999999999999", "-1e18446744073709551616", "1e9223372036854775807"}) {
    EXPECT_EQ(canonical(far), "nothing") << far;
  }
}

// What is not JSON, or what parsers disagree on, has no canonical form.
TEST(CanonicalJson, RefusesWhatParsersDisagreeOn) {
  using namespace std::string_view_literals;
  for (const std::string_view body : {""sv,
                                      " "sv,
                                      "\0"sv,
                                      "nul"sv,
                                      "nullx"sv,
                                      "True"sv,
                                      "NaN"sv,
                                      "Infinity"sv,
                                      "1 2"sv,
                                      "{}{}"sv,
                                      "[1,]"sv,
                                      "[,1]"sv,
                                      "[1"sv,
                                      "]"sv,
                                      "{"sv,
                                      "{\"a\"}"sv,
                                      "{\"a\":}"sv,
                                      "{\"a\":1,}"sv,
                                      "{a:1}"sv,
                                      "{'a':1}"sv,
                                      "{1:2}"sv,
                                      "[1}"sv,
                                      "{\"a\":1]"sv,
                                      "01"sv,
                                      "-01"sv,
                                      "+1"sv,
                                      ".5"sv,
                                      "1."sv,
                                      "1.e1"sv,
                                      "1e"sv,
                                      "1e+"sv,
                                      "-"sv,
                                      "--1"sv,
                                      "0x10"sv,
                                      "1_000"sv,
                                      "\"\t\""sv,
                                      "\"\n\""sv,
                                      "\"\\x41\""sv,
                                      "\"\\u12\""sv,
                                      "\"\\u123g\""sv,
                                      "\"\\\""sv,
                                      "\"\\"sv,
                                      "\""sv,
                                      "/* */1"sv,
                                      "1//"sv,
                                      "\xEF\xBB\xBF{}"sv,
                                      "\xEF\xBB\xBF"sv,
                                      "[1]\0"sv,
                                      "\v1"sv,
                                      "\xC2\xA0"
                                      "1"sv}) {
    EXPECT_EQ(canonical(body), "nothing") << body;
  }
}

// Duplicate names are found after unescaping, next to each other or far apart.
TEST(CanonicalJson, RefusesDuplicateNames) {
  for (const std::string_view body :
       {R"({"a":1,"a":1})", R"({"a":1,"\u0061":2})", R"({"a":1,"b":2,"a":3})", R"({"b":1,"a":1,"b":2})",
        R"([{"x":{"":1,"":1}}])", R"({"a longer name":1,"b":2,"a longer name":3})", R"({"12345678":1,"12345678":2})"}) {
    EXPECT_EQ(canonical(body), "nothing") << body;
  }
  EXPECT_EQ(canonical(R"({"a":{"a":{"a":1}},"A":1})"), R"({"A":1,"a":{"a":{"a":1}}})");
}

// Bytes that are not UTF-8 mean different things to different parsers, and so do halves of surrogate pairs.
TEST(CanonicalJson, RefusesInvalidUnicode) {
  for (const std::string_view text : {"\x80",
                                      "\xBF",
                                      "\xC0\x80",
                                      "\xC1\xBF",
                                      "\xC3",
                                      "\xC3(",
                                      "\xE0\x80\x80",
                                      "\xE0\x9F\xBF",
                                      "\xE2\x82",
                                      "\xED\xA0\x80",
                                      "\xED\xBF\xBF",
                                      "\xF0\x80\x80\x80",
                                      "\xF0\x8F\xBF\xBF",
                                      "\xF4\x90\x80\x80",
                                      "\xF5\x80\x80\x80",
                                      "\xF0\x9F\x98",
                                      "\xFE",
                                      "\xFF",
                                      "\\uD800",
                                      "\\uDC00",
                                      "\\uD800x",
                                      "\\uD800\\n",
                                      "\\uD800\\u0041",
                                      "\\uD800\\uD800",
                                      "\\uDC00\\uD800",
                                      "\\uD800\\u",
                                      "\\uD800\\uDC0",
                                      "\\uDFFF",
                                      "\\uDBFF",
                                      "\\uD800\\uDBFF",
                                      "\\uD800\\uE000"}) {
    const std::string quoted = '"' + std::string(text) + '"';
    EXPECT_EQ(canonical(quoted), "nothing") << text;
    EXPECT_EQ(canonical("{" + quoted + ":1}"), "nothing") << text;
    EXPECT_EQ(canonical("[" + quoted + ",\"a long string behind it\"]"), "nothing") << text;
  }
  for (const std::string_view text : {"\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                                      "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    const std::string quoted = '"' + std::string(text) + '"';
    EXPECT_EQ(canonical(quoted), quoted);
  }
  EXPECT_EQ(canonical(R"("\ud7ff\ue000\ud800\udc00\udbff\udfff\u007f\u0080\u07ff\u0800\uffff")"),
            "\"\xED\x9F\xBF\xEE\x80\x80\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF\"");
}

// Depth is 64: one more is refused, whichever containers are nested.
TEST(CanonicalJson, RefusesDepthOver64) {
  const auto nested = [](std::size_t depth, std::string_view open, std::string_view close) {
    return repeated(open, depth) + "0" + repeated(close, depth);
  };
  EXPECT_EQ(canonical(nested(64, "[", "]")), nested(64, "[", "]"));
  EXPECT_EQ(canonical(nested(65, "[", "]")), "nothing");
  EXPECT_EQ(canonical(nested(64, R"({"a":)", "}")), nested(64, R"({"a":)", "}"));
  EXPECT_EQ(canonical(nested(65, R"({"a":)", "}")), "nothing");
  EXPECT_EQ(canonical(nested(64, R"({"b":1,"a":)", "}")), repeated(R"({"a":)", 64) + "0" + repeated(R"(,"b":1})", 64));
}

// A megabyte of whatever repeats, on a stack of 128 KiB: nothing may recurse with the input.
TEST(CanonicalJson, NeedsNoStackToSpeakOf) {
  const auto run = [](void*) -> void* {
    constexpr std::size_t bytes = 1 << 20;
    EXPECT_FALSE(canonical_json(std::string(bytes, '[')).has_value());
    EXPECT_FALSE(canonical_json(repeated(R"({"a":)", bytes / 5)).has_value());
    EXPECT_FALSE(canonical_json(repeated("[{\"\":", bytes / 5)).has_value());
    const std::string digits(bytes, '7');
    EXPECT_EQ(canonical_json(digits), digits);
    const std::string deep =
        repeated(R"({"b":1,"a":)", 64) + '"' + std::string(bytes, 'x') + '"' + std::string(64, '}');
    EXPECT_TRUE(canonical_json(deep).has_value());
    const std::string wide = "[" + repeated(R"({"b":[],"a":{}},)", bytes / 16) + "0]";
    EXPECT_TRUE(canonical_json(wide).has_value());
    return nullptr;
  };
  pthread_attr_t small;
  ASSERT_EQ(pthread_attr_init(&small), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&small, 128 << 10), 0);
  pthread_t thread{};
  ASSERT_EQ(pthread_create(&thread, &small, run, nullptr), 0);
  EXPECT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&small);
}

// 100,000 members in descending order come out ascending; one of them twice, and there is no canonical form.
TEST(CanonicalJson, SortsManyMembers) {
  std::string ascending = "{";
  std::string descending = "{";
  for (int i = 0; i < 100'000; ++i) {
    ascending += (i > 0 ? ",\"" : "\"") + std::to_string(100'000 + i) + "\":1";
    descending += (i > 0 ? ",\"" : "\"") + std::to_string(199'999 - i) + "\":1";
  }
  EXPECT_EQ(canonical(descending + "}"), ascending + "}");
  EXPECT_EQ(canonical(descending + ",\"150000\":1}"), "nothing");
}

}  // namespace
}  // namespace semel::core::json
