// Patterns against paths, and which rule a request falls under.
#include "config/match.h"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "policy/pattern.h"
#include "support/rules.h"

namespace semel::config {
namespace {

struct Case {
  std::string_view pattern;
  std::vector<std::string_view> matches;
  std::vector<std::string_view> others;
};

// What each form of pattern takes, by the byte.
TEST(Pattern, MatchesRawPaths) {
  const std::vector<Case> cases{
      {"/", {"/"}, {"", "//", "/a"}},
      {"/v1/payments", {"/v1/payments"}, {"/v1/payments/", "/v1/Payments", "/v1//payments", "/v1/payment%73", "/v1"}},
      {"/v1/", {"/v1/"}, {"/v1", "/v1//", "/v1/a"}},
      {"/v1/*", {"/v1/", "/v1/a", "/v1/a/b", "/v1//", "/v1/a?"}, {"/v1", "/v2/a", "/v11/a", "//v1/a", "v1/a"}},
      {"/*", {"/", "/a", "/a/b", "//"}, {"", "a", "*"}},
      {"/v1/*/refunds", {"/v1/7/refunds", "/v1/*/refunds"}, {"/v1//refunds", "/v1/7/8/refunds", "/v1/7/refunds/"}},
      {"/*/x/*", {"/a/x/", "/a/x/b/c"}, {"/a/x", "//x/b", "/a/y/b"}},
      {"/a%20b", {"/a%20b"}, {"/a b", "/a%20B"}}};
  for (const Case& each : cases) {
    for (const auto path : each.matches)
      EXPECT_TRUE(policy::pattern(each.pattern).matches(path)) << each.pattern << " " << path;
    for (const auto path : each.others)
      EXPECT_FALSE(policy::pattern(each.pattern).matches(path)) << each.pattern << " " << path;
  }
}

// One pattern covers another if it takes every path that the other takes.
TEST(Pattern, KnowsWhatItCovers) {
  const auto covers = [](std::string_view a, std::string_view b) {
    return policy::pattern(a).covers(policy::pattern(b));
  };
  EXPECT_TRUE(covers("/*", "/v1/*"));
  EXPECT_TRUE(covers("/v1/*", "/v1/*"));
  EXPECT_TRUE(covers("/v1/*", "/v1/*/refunds"));
  EXPECT_TRUE(covers("/*/a", "/v1/a"));
  EXPECT_TRUE(covers("/v1/*", "/v1/"));
  EXPECT_FALSE(covers("/v1/*", "/v1"));
  EXPECT_FALSE(covers("/v1/a", "/v1/*"));
  EXPECT_FALSE(covers("/*/a", "/*"));
  EXPECT_FALSE(covers("/*/a", "//a"));
  EXPECT_FALSE(covers("/a/*", "/*/*"));
}

// The rule above, against what the patterns do with paths.
TEST(Pattern, CoversOnlyWhatItMatches) {
  const auto segment = rc::gen::element<std::string>("/", "/a", "/b", "/*");
  const auto text = rc::gen::map(rc::gen::container<std::vector<std::string>>(segment), [](const auto& parts) {
    std::string joined;
    for (const auto& part : parts) joined += part;
    return joined.empty() ? std::string("/") : joined;
  });
  rc::check([&] {
    const policy::Pattern a = policy::pattern(*rc::gen::resize(4, text));
    const policy::Pattern b = policy::pattern(*rc::gen::resize(4, text));
    const std::string path = *rc::gen::resize(5, text);
    if (a.covers(b) && b.matches(path)) RC_ASSERT(a.matches(path));
  });
}

// What programs read differently is never guarded, however it is spelled.
TEST(DoubtfulPath, NamesWhatProgramsReadDifferently) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases{
      {"/a/../b", "a `..` segment"},     {"/..", "a `..` segment"},
      {"/a/%2e%2E/b", "a `..` segment"}, {"/a/.%2e", "a `..` segment"},
      {"/a%2fb", "an encoded slash"},    {"/a%2Fb", "an encoded slash"},
      {"/a\\b", "a backslash"},          {"/a%5cb", "an encoded backslash"},
      {"/a%00", "an encoded NUL"},       {std::string_view("/a\0b", 4), "a NUL"}};
  for (const auto& [path, why] : cases) EXPECT_EQ(policy::doubtful_path(path), why) << path;
  for (const std::string_view plain : {"/", "/a/b", "/a..b", "/...", "/a/.b", "/%2e", "/a%252fb", "/a%2", "/a%41"}) {
    EXPECT_EQ(policy::doubtful_path(plain), std::nullopt) << plain;
  }
}

class Matching : public testing::Test {
 protected:
  Config config = test::config(
      "[upstream.app]\nurl = 'http://h'\n"
      "[[route]]\npath = '/v1/free'\nupstream = 'app'\nkey = 'off'\n"
      "[[route]]\npath = '/v1/*'\nupstream = 'app'\n"
      "[[route]]\npath = '/v1/pay'\nupstream = 'app'\nkey = 'optional'\n"
      "[[webhook]]\npath = '/v1/hooks'\nupstream = 'app'\nprovider = 'stripe'\nsecrets = ['env:TOKEN']\n");

  [[nodiscard]] const policy::Route* route(std::size_t at) const { return &config.routes.at(at); }
};

// The first route whose path matches decides; its methods are guarded, others pass.
TEST_F(Matching, TakesTheFirstRouteWhosePathMatches) {
  EXPECT_EQ(std::get<Guarded>(match(config, "POST", "/v1/pay")).route, route(1));
  EXPECT_EQ(std::get<Guarded>(match(config, "PATCH", "/v1/x/y")).route, route(1));
  EXPECT_EQ(std::get<Unguarded>(match(config, "GET", "/v1/pay")).route, route(1));
  EXPECT_EQ(std::get<Unguarded>(match(config, "POST", "/v1/free")).route, route(0));
}

// Webhooks come before routes, with every method.
TEST_F(Matching, TriesWebhooksFirst) {
  EXPECT_EQ(std::get<WebhookCall>(match(config, "POST", "/v1/hooks")).webhook, &config.webhooks.front());
  EXPECT_EQ(std::get<WebhookCall>(match(config, "GET", "/v1/hooks")).webhook, &config.webhooks.front());
}

// A path that nobody names is nobody's.
TEST_F(Matching, FindsNothingForOtherPaths) {
  EXPECT_TRUE(std::holds_alternative<NoRoute>(match(config, "POST", "/v2/pay")));
  EXPECT_TRUE(std::holds_alternative<NoRoute>(match(config, "OPTIONS", "*")));
  EXPECT_TRUE(std::holds_alternative<NoRoute>(match(config, "POST", "")));
}

// A path in doubt is refused where it would be guarded, and only there.
TEST_F(Matching, RefusesDoubtfulPathsWhereTheyWouldBeGuarded) {
  EXPECT_EQ(std::get<DoubtfulPath>(match(config, "POST", "/v1/a/../pay")).why, "a `..` segment");
  EXPECT_TRUE(std::holds_alternative<Unguarded>(match(config, "GET", "/v1/a%2fb")));
  EXPECT_TRUE(std::holds_alternative<NoRoute>(match(config, "POST", "/v2/%2f")));
}

constexpr std::string_view head = R"(
[store]
url = "memory:"
[upstream.app]
url = "http://127.0.0.1:1"
)";

// Nobody reaches a webhook's handler unverified by spelling its path in another way under a route for everything; a
// route that names the other spelling is somebody's intention.
TEST(Match, RefusesOtherSpellingsOfAWebhook) {
  const Config rules = test::config(std::string(head) + R"(
[[webhook]]
path = "/wh/stripe"
provider = "stripe"
secrets = ["whsec_dGVzdA=="]
upstream = "app"
[[webhook]]
path = "/Hooks/*"
provider = "github"
secrets = ["secret"]
upstream = "app"
[[route]]
path = "/wh/stripe/"
upstream = "app"
key = "off"
[[route]]
path = "/*"
upstream = "app"
key = "optional"
)");
  EXPECT_TRUE(std::holds_alternative<WebhookCall>(match(rules, "POST", "/wh/stripe")));
  for (const std::string_view path :
       {"/wh/strip%65", "//wh/stripe", "/WH/stripe", "/wh/stripe;a", "/hooks/a", "/x/../Hooks/b"}) {
    EXPECT_TRUE(std::holds_alternative<LookAlike>(match(rules, "POST", path))) << path;
    EXPECT_TRUE(std::holds_alternative<LookAlike>(match(rules, "GET", path))) << path;
  }
  EXPECT_TRUE(std::holds_alternative<Unguarded>(match(rules, "POST", "/wh/stripe/")));
  EXPECT_TRUE(std::holds_alternative<Guarded>(match(rules, "POST", "/wh/stripes")));
}

// A guard is not gone round by a spelling. The first route that a reading leads to decides, as with the bytes.
TEST(Match, RefusesOtherSpellingsOfAGuardedPath) {
  const Config rules = test::config(std::string(head) + R"(
[[route]]
path = "/v1/public/*"
upstream = "app"
key = "off"
[[route]]
path = "/v1/*"
upstream = "app"
[[route]]
path = "/seen/*"
upstream = "app"
mode = "observe"
[[route]]
path = "/perhaps/*"
upstream = "app"
key = "optional"
[[route]]
path = "/*"
upstream = "app"
key = "off"
)");
  for (const std::string_view path : {"/V1/pay", "//v1/pay", "/index.php/v1/pay", "/x/../v1/pay", "/v1",
                                      "/v1/public/../pay", "/perhaps/../v1/pay", "/seen/../v1/pay", "/PERHAPS/x"}) {
    EXPECT_TRUE(std::holds_alternative<LookAlike>(match(rules, "POST", path))) << path;
    EXPECT_FALSE(std::holds_alternative<LookAlike>(match(rules, "GET", path))) << path;
    EXPECT_FALSE(std::holds_alternative<LookAlike>(match(rules, "PUT", path))) << path;
  }
  for (const std::string_view path :
       {"/v1/public/x", "/V1/public/x", "/SEEN/x", "/v2/pay", "/a.php/x", "/a.php/x.json"}) {
    EXPECT_TRUE(std::holds_alternative<Unguarded>(match(rules, "POST", path))) << path;
  }
  EXPECT_TRUE(std::holds_alternative<Guarded>(match(rules, "POST", "/v1/Pay.json")));
}

// Below a webhook is its handler's, for many servers; below a route are other resources.
TEST(Match, RefusesWhatIsBelowAWebhookUnlessARouteNamesIt) {
  const std::string text = std::string(head) + R"(
[[webhook]]
path = "/wh/stripe"
provider = "stripe"
secrets = ["whsec_dGVzdA=="]
upstream = "app"
[[route]]
path = "/pay"
upstream = "app"
)";
  const Config everything = test::config(text + "[[route]]\npath = \"/*\"\nupstream = \"app\"\nkey = \"off\"\n");
  EXPECT_TRUE(std::holds_alternative<LookAlike>(match(everything, "POST", "/wh/stripe/x")));
  EXPECT_TRUE(std::holds_alternative<Unguarded>(match(everything, "POST", "/pay/7/capture")));
  const Config below = test::config(text + "[[route]]\npath = \"/wh/stripe/*\"\nupstream = \"app\"\nkey = \"off\"\n");
  EXPECT_TRUE(std::holds_alternative<Unguarded>(match(below, "POST", "/wh/stripe/x")));
  EXPECT_TRUE(std::holds_alternative<LookAlike>(match(below, "POST", "/wh/stripe/.")));
}

// A server that is known to compare bytes needs none of this.
TEST(Match, LeavesSpellingsToAnExactUpstream) {
  const Config rules = test::config(std::string(head) + R"(
paths = "exact"
[[route]]
path = "/v1/*"
upstream = "app"
[[route]]
path = "/*"
upstream = "app"
key = "off"
)");
  EXPECT_TRUE(std::holds_alternative<Unguarded>(match(rules, "POST", "/V1/pay")));
  EXPECT_TRUE(std::holds_alternative<Guarded>(match(rules, "POST", "/v1/pay")));
}

// The client hears which rule it was.
TEST(Match, SaysWhatWasOverlooked) {
  EXPECT_EQ(detail_of({.whose = "a webhook", .overlooked = policy::Overlooked::ending}),
            "Some servers would take this path for that of a webhook: they ignore an ending such as .json.");
}

// `post` is refused where POST is guarded: some servers would run it as POST. Elsewhere it is no method at all.
TEST(Match, RefusesGuardedMethodsInOtherLetters) {
  const Config rules = test::config(std::string(head) + R"(
[[route]]
path = "/v1/*"
upstream = "app"
[[route]]
path = "/*"
upstream = "app"
key = "off"
)");
  EXPECT_TRUE(std::holds_alternative<MisspelledMethod>(match(rules, "post", "/v1/a")));
  EXPECT_TRUE(std::holds_alternative<MisspelledMethod>(match(rules, "PoST", "/v1/a")));
  EXPECT_TRUE(std::holds_alternative<Guarded>(match(rules, "POST", "/v1/a")));
  EXPECT_TRUE(std::holds_alternative<UnknownMethod>(match(rules, "get", "/v1/a")));
  EXPECT_TRUE(std::holds_alternative<UnknownMethod>(match(rules, "post", "/other")));
}

// What passes is known by name, and written as its name is.
TEST(Match, PassesOnlyMethodsThatAreKnown) {
  const std::string text = R"([store]
url = "memory:"
[upstream.app]
url = "http://127.0.0.1:1"
[[route]]
path = "/*"
upstream = "app"
methods = ["POST", "DELETE"]
)";
  const Config rules = test::config(text);
  for (const std::string_view method : {"GET", "HEAD", "PUT", "PATCH", "OPTIONS"}) {
    EXPECT_TRUE(std::holds_alternative<Unguarded>(match(rules, method, "/a"))) << method;
  }
  for (const std::string_view method : {"PURGE", "PROPFIND", "M-SEARCH", "get", "GETX", ""}) {
    EXPECT_TRUE(std::holds_alternative<UnknownMethod>(match(rules, method, "/a"))) << method;
  }
  const Config more = test::config("[server]\nmethods = [\"PROPFIND\"]\n" + text);
  EXPECT_TRUE(std::holds_alternative<Unguarded>(match(more, "PROPFIND", "/a")));
  EXPECT_TRUE(std::holds_alternative<UnknownMethod>(match(more, "propfind", "/a")));
  EXPECT_TRUE(std::holds_alternative<Guarded>(match(more, "DELETE", "/a")));
}

}  // namespace
}  // namespace semel::config
