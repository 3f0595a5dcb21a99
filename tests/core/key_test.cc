// Reading Idempotency-Key fields, and making keys that cannot be confused.
#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/hex.h"
#include <semel/key.h>
#include <semel/result.h>

namespace semel::core {
namespace {

Result<std::string> parse(std::vector<std::string_view> lines) {
  return parse_key_text(lines);
}

// What the text is, or "refused".
std::string text_of(std::string_view line) {
  return parse({line}).value_or("refused");
}

std::string as_quoted(std::string_view text) {
  std::string field = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') field.push_back('\\');
    field.push_back(c);
  }
  return field + "\"";
}

// Clients send the draft's quoted string or, most of them, a bare token: it is one key.
TEST(KeyText, IsTheSameQuotedOrBare) {
  EXPECT_EQ(text_of("abc"), "abc");
  EXPECT_EQ(text_of("\"abc\""), "abc");
  EXPECT_EQ(text_of("6f3c2e1a-8d54-4b7e-9c11-0a5f2d7b3e90"), "6f3c2e1a-8d54-4b7e-9c11-0a5f2d7b3e90");
  EXPECT_EQ(text_of("a/b:c=d'e(f)[g]{h}<i>@#$%^&*!?.~`|+_-"), "a/b:c=d'e(f)[g]{h}<i>@#$%^&*!?.~`|+_-");
  EXPECT_EQ(text_of("17"), "17");
}

// A quoted string may hold what a token may not.
TEST(KeyText, MayHoldAnyPrintableCharacterWhenQuoted) {
  EXPECT_EQ(text_of(R"("a b,c;d=1")"), "a b,c;d=1");
  EXPECT_EQ(text_of(R"("say \"hi\" \\ bye")"), R"(say "hi" \ bye)");
  EXPECT_EQ(text_of("\" \""), " ");
}

// Spaces around the value are not part of it; a tab is not a space.
TEST(KeyText, LosesSpacesAroundIt) {
  EXPECT_EQ(text_of("   abc  "), "abc");
  EXPECT_EQ(text_of("  \" abc \"  "), " abc ");
  EXPECT_EQ(text_of("\tabc"), "refused");
  EXPECT_EQ(text_of("abc\t"), "refused");
}

// No line is a missing key; two lines are two keys, even if they are equal.
TEST(KeyText, StandsOnExactlyOneLine) {
  EXPECT_FALSE(parse({}).has_value());
  EXPECT_FALSE(parse({"a", "b"}).has_value());
  EXPECT_FALSE(parse({"a", "a"}).has_value());
  EXPECT_FALSE(parse({"\"a", "b\""}).has_value());
}

// Whatever could be read in two ways is refused.
TEST(KeyText, RefusesWhatIsMalformed) {
  using namespace std::string_view_literals;
  for (const std::string_view line :
       {""sv,      " "sv,        "\"\""sv,         " \"\" "sv,      "\""sv,         "\"abc"sv,
        "abc\""sv, "\"abc\\"sv,  "\"abc\\\""sv,    "\"a\\b\""sv,    "a\\b"sv,       "a, b"sv,
        "a,b"sv,   ",a"sv,       "\"a\", \"b\""sv, "\"abc\";a=1"sv, "\"abc\" ;a"sv, "abc;a=1"sv,
        "abc;"sv,  "\"abc\"d"sv, "\"abc\" d"sv,    "\"a\"\"b\""sv,  "a b"sv,        "a\"b\"c"sv,
        "a\0b"sv,  "\"a\0b\""sv, "\"a\tb\""sv,     "a\nb"sv,        "\"\x7F\""sv,   "\x7F"sv,
        "é"sv,     "\"é\""sv,    "\x80"sv,         "\xFF"sv,        "\"a\r\""sv}) {
    EXPECT_EQ(text_of(line), "refused") << line;
    if (!parse({line}).has_value()) EXPECT_EQ(parse({line}).error().code, Code::invalid);
  }
}

// 255 bytes once decoded: escapes do not count.
TEST(KeyText, HasAtMost255Bytes) {
  const std::string longest(255, 'k');
  EXPECT_EQ(text_of(longest), longest);
  EXPECT_EQ(text_of('"' + longest + '"'), longest);
  EXPECT_EQ(text_of(longest + "k"), "refused");
  EXPECT_EQ(text_of('"' + longest + "k\""), "refused");
  EXPECT_EQ(text_of(as_quoted(std::string(255, '"'))), std::string(255, '"'));
  EXPECT_EQ(text_of(as_quoted(std::string(256, '\\'))), "refused");
  EXPECT_EQ(text_of(std::string(1 << 20, 'k')), "refused");
}

// A refusal says what is wrong and what a good key looks like, and never repeats the key: it may be a secret.
TEST(KeyText, IsNotRepeatedInRefusals) {
  const std::string secret = "s3cr3t-t0k3n";
  const std::vector<std::string> lines = {"\"" + secret,
                                          secret + ", " + secret,
                                          "\"" + secret + "\";a=1",
                                          "\"" + secret + "\" x",
                                          secret + "\t",
                                          secret + " " + secret,
                                          secret + "\\x",
                                          "\"" + secret + "\\x\"",
                                          secret + "\xC3\xA9",
                                          secret + std::string(300, 'x'),
                                          secret + "\"",
                                          secret + ";a"};
  std::set<std::string> details;
  for (const std::string& line : lines) {
    const Result<std::string> text = parse({line});
    ASSERT_FALSE(text.has_value()) << line;
    EXPECT_FALSE(text.error().detail.contains(secret)) << text.error().detail;
    EXPECT_TRUE(text.error().detail.contains("Idempotency-Key: \"")) << text.error().detail;
    details.insert(text.error().detail);
  }
  EXPECT_GE(details.size(), 8U);  // different mistakes, different words
}

// Every printable text survives quoting, and every token survives as it is.
RC_GTEST_PROP(KeyText, SurvivesQuoting, ()) {
  const auto text =
      *rc::gen::resize(255, rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '\x7F'))));
  RC_PRE(text.size() <= key_text_bytes_max);
  RC_ASSERT(text_of(as_quoted(text)) == text);
  const bool token = text.find_first_of(" \",;\\") == std::string::npos;
  RC_ASSERT((text_of(text) == text) == token);
}

Key key_of(std::string_view space, std::string_view scope, std::string_view text) {
  return make_key(space, scope, text).value();
}

// The identity is stored, so it may never change: computed once with another program.
TEST(Key, HasAStableIdentity) {
  const Key key = key_of("api", "tenant-7", "order-42");
  EXPECT_EQ(test::to_hex(key.id), "e607678c53e8a941d613ccc01981ac598b58438fbc4a9cb8d627866f73eacf62");
  EXPECT_EQ(test::to_hex(key.scope), "f25bb8de9a8099a5f8d15ace8f35b7f9");
  EXPECT_EQ(key.space, "api");
}

// Namespace, scope and text all count, and where one ends and the next begins counts too.
TEST(Key, DiffersWithEachPartAndWithTheirBoundaries) {
  const std::vector<Key> keys = {key_of("ab", "c", "d"),
                                 key_of("a", "bc", "d"),
                                 key_of("a", "b", "cd"),
                                 key_of("abc", "", "d"),
                                 key_of("a", "", "bcd"),
                                 key_of("ab", "cd", "x"),
                                 key_of("ab", "c", "dx"),
                                 key_of("ab", "c", "d "),
                                 key_of("ab ", "c", "d"),
                                 key_of("AB", "c", "d"),
                                 key_of("ab", "C", "d"),
                                 key_of("ab", "c", "D"),
                                 key_of("ab", std::string_view("c\0", 2), "d")};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(keys[i], keys[j]) << i << " " << j;
  }
}

// Operators group by scope: the same for all keys of one tenant, another for every other tenant.
TEST(Key, CarriesItsScope) {
  EXPECT_EQ(key_of("a", "tenant", "1").scope, key_of("b", "tenant", "2").scope);
  EXPECT_NE(key_of("a", "tenant", "1").scope, key_of("a", "tenanu", "1").scope);
  EXPECT_NE(key_of("a", "", "1").scope, ScopeDigest{});
}

// Any two triples that differ have different ids, however the parts share a common text.
RC_GTEST_PROP(Key, IsEqualOnlyForEqualParts, ()) {
  const auto part = rc::gen::map(rc::gen::container<std::string>(rc::gen::element('a', 'b')),
                                 [](std::string text) { return text.substr(0, 3); });
  const auto triple = *rc::gen::tuple(part, part, part);
  const auto other = *rc::gen::tuple(part, part, part);
  const auto make = [](const auto& parts) {
    return make_key(std::get<0>(parts) + "s", std::get<1>(parts), std::get<2>(parts) + "t").value();
  };
  RC_ASSERT((make(triple) == make(other)) == (triple == other));
  RC_ASSERT((make(triple).scope == make(other).scope) == (std::get<1>(triple) == std::get<1>(other)));
}

// A part that is missing or too long is an error, never an empty string or a cut one. An empty scope is one tenant.
TEST(Key, RefusesPartsThatAreMissingOrTooLong) {
  EXPECT_TRUE(make_key("api", "", "k").has_value());
  EXPECT_TRUE(make_key(std::string(64, 's'), std::string(100'000, 'x'), std::string(255, 'k')).has_value());
  EXPECT_FALSE(make_key("", "s", "k").has_value());
  EXPECT_FALSE(make_key(std::string(65, 's'), "s", "k").has_value());
  EXPECT_FALSE(make_key("api", "s", "").has_value());
  EXPECT_FALSE(make_key("api", "s", std::string(256, 'k')).has_value());
  EXPECT_EQ(make_key("", "s", "k").error().code, Code::invalid);
}

// Keys live in hash tables: equal keys hash alike, and ids spread.
TEST(Key, HashesByItsIdentity) {
  EXPECT_EQ(std::hash<Key>{}(key_of("a", "b", "c")), std::hash<Key>{}(key_of("a", "b", "c")));
  std::set<std::size_t> hashes;
  for (int i = 0; i < 1'000; ++i) hashes.insert(std::hash<Key>{}(key_of("a", "b", std::to_string(i))));
  EXPECT_EQ(hashes.size(), 1'000U);
}

}  // namespace
}  // namespace semel::core
