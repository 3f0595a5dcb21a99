// Reading expressions: every part, every mistake at its column.
#include "policy/expression.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace semel::policy {
namespace {

// Every kind of part is read, with its name and its question mark.
TEST(Expression, ReadsParts) {
  const Expression all = expression("a{header:X-Tenant}{cookie:sid?}{query:q}{json:/a~1b/0}{path}{method}{ip}z");
  ASSERT_EQ(all.parts.size(), 9U);
  EXPECT_EQ(all.parts[0], (Part{.kind = PartKind::literal, .text = "a", .pointer = {}, .optional = false}));
  EXPECT_EQ(all.parts[1], (Part{.kind = PartKind::header, .text = "X-Tenant", .pointer = {}, .optional = false}));
  EXPECT_EQ(all.parts[2], (Part{.kind = PartKind::cookie, .text = "sid", .pointer = {}, .optional = true}));
  EXPECT_EQ(all.parts[3], (Part{.kind = PartKind::query, .text = "q", .pointer = {}, .optional = false}));
  EXPECT_EQ(all.parts[4],
            (Part{.kind = PartKind::json, .text = "/a~1b/0", .pointer = {"a/b", "0"}, .optional = false}));
  EXPECT_EQ(all.parts[7].kind, PartKind::ip);
  EXPECT_TRUE(all.has(PartKind::path));
  EXPECT_FALSE(all.has(PartKind::key));
  EXPECT_FALSE(all.is_single(PartKind::header));
  EXPECT_TRUE(expression("{header:A}").is_single(PartKind::header));
}

// Doubled braces are braces, also right beside a part.
TEST(Expression, ReadsDoubledBracesAsBraces) {
  EXPECT_EQ(expression("{{a}}").parts.front().text, "{a}");
  const Expression beside = expression("{{{path}}}");
  ASSERT_EQ(beside.parts.size(), 3U);
  EXPECT_EQ(beside.parts[0].text, "{");
  EXPECT_EQ(beside.parts[2].text, "}");
}

// An empty expression is one without parts.
TEST(Expression, MayBeEmpty) {
  EXPECT_TRUE(expression("").parts.empty());
}

// A part is written back as it was.
TEST(Expression, WritesPartsBack) {
  for (const std::string_view text : {"{header:X?}", "{cookie:c}", "{query:q?}", "{json:/a/b}", "{path}", "{method}",
                                      "{ip}", "{client_cert:subject?}"}) {
    EXPECT_EQ(part_text(expression(text).parts.front()), text);
  }
}

struct Bad {
  std::string_view text;
  std::size_t offset;
  std::string_view message;
  std::string_view suggestion;
};

// Every mistake has its own message at the very character, and a suggestion where the meaning is plain.
TEST(Expression, NamesEachMistakeAtItsColumn) {
  const std::vector<Bad> cases{
      {"a{header:X", 1, "this `{` is never closed", ""},
      {"{header:{X}", 0, "this `{` is never closed", ""},
      {"a}b", 1, "a `}` closes nothing; }} is a brace", ""},
      {"{}", 0, "a part in braces begins with its kind, such as {header:X}; {{ is a brace", ""},
      {"{:X}", 0, "a part in braces begins with its kind, such as {header:X}; {{ is a brace", ""},
      {"ab{headr:X}", 3,
       "there is no part {headr}; there are header:, cookie:, query:, json:, path, method, ip, client_cert: and jwt:",
       "{header:X}"},
      {"{HEADER:X}", 1,
       "there is no part {HEADER}; there are header:, cookie:, query:, json:, path, method, ip, client_cert: and jwt:",
       "{header:X}"},
      {"{body}", 1,
       "there is no part {body}; there are header:, cookie:, query:, json:, path, method, ip, client_cert: and jwt:",
       ""},
      {"{header}", 1, "{header} needs a name: {header:NAME}", ""},
      {"{header:?}", 1, "{header} needs a name: {header:NAME}", ""},
      {"{json:}", 1, "{json} needs a name: {json:/pointer}", ""},
      {"{path:x}", 5, "{path} takes no name", "{path}"},
      {"{ip?}", 3, "{ip} is always present", "{ip}"},
      {"{header:A B}", 8, "\"A B\" is not the name of a header", ""},
      {"{cookie:a=b}", 8, "\"a=b\" is not the name of a cookie", ""},
      {"{client_cert:serial}", 13, "of a certificate only the subject is known: {client_cert:subject}",
       "{client_cert:subject}"},
      {"{jwt:}", 1, "{jwt} needs a name: {jwt:NAME}", ""},
      {"{jwt:/~2}", 5, "\"/~2\" is not a JSON pointer (RFC 6901)", ""},
      {"{json:id}", 6, "\"id\" is not a JSON pointer (RFC 6901)", "{json:/id}"},
      {"{json:/~2}", 6, "\"/~2\" is not a JSON pointer (RFC 6901)", ""},
      {"{key}", 1, "{key} is known only in a probe; here it would have to name itself", ""},
      {"a\nb", 1, "an expression holds no control characters", ""}};
  for (const Bad& bad : cases) {
    const auto parsed = parse_expression(bad.text);
    ASSERT_FALSE(parsed) << bad.text;
    EXPECT_EQ(parsed.error().message, bad.message) << bad.text;
    EXPECT_EQ(parsed.error().offset, bad.offset) << bad.text;
    EXPECT_EQ(parsed.error().suggestion, bad.suggestion) << bad.text;
  }
}

// A claim is a name, whatever is in it, or a pointer.
TEST(Expression, ReadsClaims) {
  const auto pointer = [](std::string_view text) { return parse_expression(text).value().parts.front().pointer; };
  EXPECT_EQ(pointer("{jwt:sub}"), std::vector<std::string>{"sub"});
  EXPECT_EQ(pointer("{jwt:/realm_access/account}"), (std::vector<std::string>{"realm_access", "account"}));
  EXPECT_EQ(pointer("{jwt:https://example.com/tenant}"), std::vector<std::string>{"https://example.com/tenant"});
  EXPECT_EQ(pointer("{jwt:a~1b?}"), std::vector<std::string>{"a~1b"});
  EXPECT_FALSE(parse_expression("/x?of={jwt:sub}", ExpressionUse::target));
  EXPECT_FALSE(parse_expression("{jwt:sub}", ExpressionUse::event));
}

// There is a bound on everything that a file can make us keep.
TEST(Expression, IsBounded) {
  EXPECT_EQ(parse_expression(std::string(1025, 'a')).error().message, "an expression is at most 1024 bytes long");
  std::string many;
  for (int i = 0; i < 33; ++i) many += "{ip}";
  EXPECT_EQ(parse_expression(many).error().message, "an expression has at most 32 parts");
}

// A probe's target is a path, knows {key}, and holds nothing that could not stand in a request line.
TEST(Expression, ReadsTargetsOfProbes) {
  EXPECT_TRUE(parse_expression("/v1/payments?key={key}", ExpressionUse::target));
  const std::vector<Bad> cases{
      {"v1/{key}", 0, "a target begins with a slash", "/v1/{key}"},
      {"{key}", 0, "a target begins with a slash", "/{key}"},
      {"/a b", 2, "a target holds only visible ASCII characters, and neither `#` nor a backslash", ""},
      {"/a#b", 2, "a target holds only visible ASCII characters, and neither `#` nor a backslash", ""}};
  for (const Bad& bad : cases) {
    const auto parsed = parse_expression(bad.text, ExpressionUse::target);
    ASSERT_FALSE(parsed) << bad.text;
    EXPECT_EQ(parsed.error().message, bad.message) << bad.text;
    EXPECT_EQ(parsed.error().offset, bad.offset) << bad.text;
    EXPECT_EQ(parsed.error().suggestion, bad.suggestion) << bad.text;
  }
}

// Some providers sign several lines. Elsewhere a line end would be a mistake.
TEST(Expression, HoldsLinesOnlyWhereTheyAreSigned) {
  const auto lines = parse_expression("{method}\n{path}\n{body}", ExpressionUse::signed_text);
  ASSERT_TRUE(lines);
  ASSERT_EQ(lines->parts.size(), 5U);
  EXPECT_EQ(lines->parts[1].text, "\n");
  EXPECT_FALSE(parse_expression("{method}\n{path}", ExpressionUse::identity));
  EXPECT_FALSE(parse_expression("{body}\x01", ExpressionUse::signed_text));
}

}  // namespace
}  // namespace semel::policy
