// What expressions make of requests: values, refusals, and that no two lists of values are joined alike.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "policy/expression.h"
#include "policy/json_scalar.h"
#include "policy/part_value.h"
#include "support/rules.h"

namespace semel::policy {
namespace {

using test::Sent;

std::string value(std::string_view text, Sent sent) {
  const auto got = evaluate(expression(text), sent.view());
  return got ? *got : "error: " + got.error().detail;
}

// A single part stands for itself: what an operator writes down is what is hashed.
TEST(Evaluate, GivesASingleValueAsItIs) {
  EXPECT_EQ(value("{header:X}", {.fields = {{"x", " v "}}}), "v");
  EXPECT_EQ(value("{cookie:sid}", {.fields = {{"Cookie", "a=1; sid=s==; b=2"}}}), "s==");
  EXPECT_EQ(value("{query:q}", {.target = "/p?a=1&q=v"}), "v");
  EXPECT_EQ(value("{json:/a/b}", {.body = R"({"a":{"b":"v"}})"}), "v");
  EXPECT_EQ(value("{path}", {.target = "/a%2fb?x=1"}), "/a%2fb");
  EXPECT_EQ(value("{method}", {.method = "PATCH"}), "PATCH");
  EXPECT_EQ(value("{ip}", {.ip = "2001:db8::1"}), "2001:db8::1");
  EXPECT_EQ(value("{client_cert:subject}", {.client_subject = "CN=a,O=b"}), "CN=a,O=b");
  EXPECT_EQ(value("one-tenant", {}), "one-tenant");
  EXPECT_EQ(value("", {}), "");
}

// Where one value ends and the next begins is part of the result.
TEST(Evaluate, KeepsPartsApart) {
  const auto joined = [](std::string a, std::string b) {
    return value("{header:A}{header:B}", {.fields = {{"A", std::move(a)}, {"B", std::move(b)}}});
  };
  EXPECT_NE(joined("ab", "c"), joined("a", "bc"));
  EXPECT_EQ(joined("ab", "c"), std::string("\0"
                                           "2:ab1:c",
                                           8));
}

// Who shows no certificate has no subject: that is an error, unless it may be.
TEST(Evaluate, MissesTheSubjectOfNobody) {
  Sent nobody;
  const auto missing = evaluate(expression("{client_cert:subject}"), nobody.view());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, PartError::Kind::missing);
  EXPECT_NE(value("{client_cert:subject?}", {}), value("{client_cert:subject?}", {.client_subject = "-"}));
}

// Absent, empty and present are three things for an optional part.
TEST(Evaluate, TellsAbsentFromEmpty) {
  const std::string absent = value("{header:X?}", {});
  const std::string empty = value("{header:X?}", {.fields = {{"X", ""}}});
  const std::string present = value("{header:X?}", {.fields = {{"X", "-"}}});
  EXPECT_NE(absent, empty);
  EXPECT_NE(absent, present);
  EXPECT_NE(empty, present);
  EXPECT_NE(absent, value("", {}));
}

struct Case {
  std::string_view expression;
  Sent sent;
  PartError::Kind kind;
  std::string_view detail;
};

// A part that is missing, empty or in doubt is an error that names the part and repeats nothing of the request.
TEST(Evaluate, NamesThePartThatCannotBeHad) {
  using enum PartError::Kind;
  const std::vector<Case> cases{
      {"a{header:X}", {}, missing, "{header:X} is missing from the request."},
      {"{header:X}", {.fields = {{"X", "  "}}}, empty, "{header:X} is empty in the request."},
      {"{header:X}", {.fields = {{"X", "1"}, {"x", "1"}}}, invalid, "{header:X} occurs more than once in the request."},
      {"{header:X?}", {.fields = {{"X", ""}, {"x", ""}}}, invalid, "{header:X?} occurs more than once in the request."},
      {"{cookie:c}", {.fields = {{"Cookie", "C=1; cc=2; c"}}}, missing, "{cookie:c} is missing from the request."},
      {"{cookie:c}", {.fields = {{"Cookie", "c=1; c=2"}}}, invalid, "{cookie:c} occurs more than once in the request."},
      {"{cookie:c}",
       {.fields = {{"Cookie", "c=1"}, {"Cookie", "c=1"}}},
       invalid,
       "{cookie:c} occurs more than once in the request."},
      {"{query:q}", {.target = "/p"}, missing, "{query:q} is missing from the request."},
      {"{query:q}", {.target = "/p?Q=1"}, missing, "{query:q} is missing from the request."},
      {"{query:q}", {.target = "/p?q"}, empty, "{query:q} is empty in the request."},
      {"{query:q}", {.target = "/p?q=1&%71=2"}, invalid, "{query:q} occurs more than once in the request."},
      {"{query:q}",
       {.target = "/p?q=%4"},
       invalid,
       "{query:q} has a percent sign without two hexadecimal digits after it."},
      {"{json:/a}", {.body = "not json"}, missing, "{json:/a} cannot be read: the body is not JSON."},
      {"{json:/a}", {.body = R"({"a":null})"}, missing, "{json:/a} is missing from the request."},
      {"{json:/a}", {.body = R"({"a":{}})"}, missing, "{json:/a} is missing from the request."},
      {"{json:/a}", {.body = R"({"a":""})"}, empty, "{json:/a} is empty in the request."},
      {"{json:/a}",
       {.body = R"({"a":1,"a":1})"},
       invalid,
       "{json:/a} is ambiguous: a name on its path occurs twice in one object."},
      {"{json:/a?}",
       {.body = R"({"a":1,"a":1})"},
       invalid,
       "{json:/a?} is ambiguous: a name on its path occurs twice in one object."}};
  for (const Case& each : cases) {
    Sent sent = each.sent;
    const auto got = evaluate(expression(each.expression), sent.view());
    ASSERT_FALSE(got) << each.detail;
    EXPECT_EQ(got.error().kind, each.kind) << each.detail;
    EXPECT_EQ(got.error().detail, each.detail);
  }
}

// Queries are read as forms are: a plus is a space, names and values are decoded once, only `&` separates.
TEST(Evaluate, DecodesQueriesAsForms) {
  EXPECT_EQ(value("{query:q}", {.target = "/?q=a+b%2Bc%2526"}), "a b+c%26");
  EXPECT_EQ(value("{query:a b}", {.target = "/?a+b=1"}), "1");
  EXPECT_EQ(value("{query:q}", {.target = "/?q=1;r=2"}), "1;r=2");
  EXPECT_EQ(value("{query:q}", {.target = "/?x=%zz&q=1"}), "1");
}

struct Document {
  std::string_view body;
  std::string_view pointer;
  std::string_view expected;  // or "!" and the miss
};

// JSON is taken by the letter: strings decoded, numbers as written, everything else missing.
TEST(JsonScalar, FollowsPointers) {
  const std::vector<Document> cases{{R"({"a":"b"})", "/a", "b"},
                                    {R"({"a":"\u00e9\n"})", "/a", "\xc3\xa9\n"},
                                    {R"({"n":1.50e+2})", "/n", "1.50e+2"},
                                    {R"({"n":9007199254740993})", "/n", "9007199254740993"},
                                    {R"({"n":123456789012345678901234567890})", "/n", "123456789012345678901234567890"},
                                    {R"({"n":-0})", "/n", "-0"},
                                    {R"({"t":true,"f":false})", "/f", "false"},
                                    {R"([1,[2,{"x":3}],4])", "/1/1/x", "3"},
                                    {R"([1,[2,3],4])", "/2", "4"},
                                    {R"([{"a":1},null,"c"])", "/2", "c"},
                                    {R"([1])", "/01", "!there"},
                                    {R"([1])", "/-", "!there"},
                                    {R"({"0":"zero"})", "/0", "zero"},
                                    {R"({"":{"":"e"}})", "//", "e"},
                                    {R"({"a":{"x":1},"b":{"x":2}})", "/b/x", "2"},
                                    {R"({"a":[{"a":1}],"b":{"a":{"a":2}}})", "/b/a/a", "2"},
                                    {R"({"a":1})", "/a/b", "!there"},
                                    {R"({"a":{"b":{}}})", "/a/b", "!there"},
                                    {R"({"x":1,"x":2,"a":3})", "/a", "3"},
                                    {R"({"a":{"b":1},"a":{"b":2}})", "/a/b", "!ambiguous"},
                                    {R"({"a":{"b":1,"\u0062":2}})", "/a/b", "!ambiguous"},
                                    {R"({"a":1,"a":2)", "/a", "!json"},
                                    {R"({"a":1}x)", "/a", "!json"},
                                    {R"({"a":1} )", "/a", "1"},
                                    {R"({"a":1,})", "/a", "!json"},
                                    {R"({"a":1,"b":01})", "/a", "!json"},
                                    {"{\"a\":\"\xff\"}", "/a", "!json"},
                                    {R"({"a":"\ud800"})", "/a", "!json"},
                                    {"", "/a", "!json"},
                                    {R"("a")", "/a", "!there"},
                                    {"\xef\xbb\xbf{\"a\":1}", "/a", "!json"}};
  for (const Document& each : cases) {
    const auto pointer = IgnoreList::parse({std::string(each.pointer)}).value().paths().front();
    const auto got = json_scalar(each.body, pointer);
    const std::string_view miss = got                                  ? ""
                                  : got.error() == JsonMiss::not_there ? "!there"
                                  : got.error() == JsonMiss::ambiguous ? "!ambiguous"
                                                                       : "!json";
    EXPECT_EQ(got ? *got : miss, each.expected) << each.body << " " << each.pointer;
  }
}

// Nesting is bounded as it is for fingerprints.
TEST(JsonScalar, RefusesWhatIsTooDeep) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + "1" + std::string(depth, ']'); };
  const std::vector<std::string> pointer{"0"};
  EXPECT_EQ(json_scalar(nested(64), pointer).error(), JsonMiss::not_there);
  EXPECT_EQ(json_scalar(nested(65), pointer).error(), JsonMiss::not_json);
  EXPECT_EQ(json_scalar(nested(200'000), pointer).error(), JsonMiss::not_json);
}

// Values are encoded, so that none of them can change the shape of a probe's target.
TEST(RenderTarget, EncodesValues) {
  Sent sent{.target = "/a/b?x=1", .fields = {{"X", "1&admin=true"}}};
  const auto probe = parse_expression("/find?key={key}&x={header:X}&y={header:Y?}&p={path}", ExpressionUse::target);
  EXPECT_EQ(render_target(probe.value(), sent.view(), "a b/\"%").value(),
            "/find?key=a%20b%2F%22%25&x=1%26admin%3Dtrue&y=&p=%2Fa%2Fb");
  const auto needs = parse_expression("/find/{header:Y}", ExpressionUse::target);
  EXPECT_EQ(render_target(needs.value(), sent.view(), "k").error().part, "{header:Y}");
}

using Values = std::vector<PartValue>;

// No two lists of values are joined alike, whatever bytes they hold and however many they are.
TEST(JoinValues, IsInjective) {
  const auto bytes = rc::gen::container<std::string>(rc::gen::element('\0', '-', '1', ':', 'a'));
  const auto values = rc::gen::container<Values>(rc::gen::oneOf(
      rc::gen::map(bytes, [](std::string text) { return PartValue(std::move(text)); }), rc::gen::just(PartValue())));
  rc::check([&] {
    const Values a = *rc::gen::resize(4, values);
    const Values b = *rc::gen::resize(4, values);
    RC_ASSERT((a == b) == (join_values(a) == join_values(b)));
  });
}

// The short lists that could be confused, every one against every other.
TEST(JoinValues, IsInjectiveOnAllShortLists) {
  const std::vector<PartValue> one{
      std::nullopt, "", "-", std::string(1, '\0'), "0:", "1", "1:", "1:-", std::string("\0-", 2)};
  std::vector<Values> lists{{}};
  for (const auto& a : one) {
    lists.push_back({a});
    for (const auto& b : one) {
      lists.push_back({a, b});
      for (const auto& c : one) lists.push_back({a, b, c});
    }
  }
  std::map<std::string, Values> seen;
  for (const Values& list : lists) {
    const auto [at, fresh] = seen.emplace(join_values(list), list);
    EXPECT_TRUE(fresh || at->second == list);
  }
}

// Two requests whose parts differ are told apart by the expression that names the parts.
TEST(Evaluate, TellsRequestsApartThroughARealExpression) {
  const Expression scope = expression("{header:A?}/{cookie:c?}{query:q?}");
  const auto text = rc::gen::container<std::string>(rc::gen::inRange('a', 'd'));
  using Three = std::tuple<std::optional<std::string>, std::optional<std::string>, std::optional<std::string>>;
  const auto build = [](const Three& three) {
    Sent sent{.target = "/"};
    if (std::get<0>(three)) sent.fields.emplace_back("A", *std::get<0>(three));
    if (std::get<1>(three)) sent.fields.emplace_back("Cookie", "c=" + *std::get<1>(three));
    if (std::get<2>(three)) sent.target += "?q=" + *std::get<2>(three);
    return sent;
  };
  rc::check([&] {
    const auto part = rc::gen::maybe(text);
    const auto maybe = [](rc::Maybe<std::string> from) { return from ? std::optional(*from) : std::nullopt; };
    const Three a{maybe(*part), maybe(*part), maybe(*part)};
    const Three b{maybe(*part), maybe(*part), maybe(*part)};
    Sent first = build(a);
    Sent second = build(b);
    RC_ASSERT((a == b) == (evaluate(scope, first.view()).value() == evaluate(scope, second.view()).value()));
  });
}

}  // namespace
}  // namespace semel::policy
