// Which names a listener answers to.
#include "policy/host.h"

#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace semel::policy {
namespace {

HostPattern host(std::string_view text) {
  auto parsed = parse_host_pattern(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : HostPattern{};
}

struct Case {
  std::string_view pattern;
  std::vector<std::string_view> matches;
  std::vector<std::string_view> others;
};

// What each form takes: any port unless one is given, any case, and a star for all that is below.
TEST(Host, MatchesAuthorities) {
  const std::vector<Case> cases{
      {"api.example.com",
       {"api.example.com", "API.Example.COM", "api.example.com:8443", "api.example.com:"},
       {"", "example.com", "x.api.example.com", "api.example.com.", "api.example.com:x", "api.example.com:1:2"}},
      {"API.example.com:8443",
       {"api.example.com:8443"},
       {"api.example.com", "api.example.com:443", "api.example.com:"}},
      {"*.example.com",
       {"a.example.com", "A.B.EXAMPLE.com:80"},
       {"example.com", ".example.com", "aexample.com", "a.example.com.evil.test", "a.example.com:x"}},
      {"*.example.com:1", {"a.example.com:1"}, {"a.example.com", "a.example.com:2"}},
      {"192.0.2.7", {"192.0.2.7", "192.0.2.7:80"}, {"192.0.2.70", "192.0.2.7.evil.test"}},
      {"[::1]", {"[::1]", "[::1]:80"}, {"::1", "[::1", "[::1]80", "[::1]x:80", "[::2]"}}};
  for (const Case& each : cases) {
    const HostPattern pattern = host(each.pattern);
    for (const auto authority : each.matches)
      EXPECT_TRUE(pattern.matches(authority)) << each.pattern << " " << authority;
    for (const auto authority : each.others)
      EXPECT_FALSE(pattern.matches(authority)) << each.pattern << " " << authority;
  }
}

// What is neither a name nor an address is refused where it is written.
TEST(Host, RefusesWhatIsNoHost) {
  for (const std::string_view text : {"", "*", "*.", "*.1.2.3.4", "*.[::1]", "a b", "a/b", "a:x", "[::1", "::1",
                                      "1.2.3", "a.*.com", "**.a.com", "me@a"}) {
    EXPECT_FALSE(parse_host_pattern(text)) << text;
  }
  const auto url = parse_host_pattern("https://a.example");
  ASSERT_FALSE(url);
  EXPECT_EQ(url.error().suggestion, "a.example");
}

// Without a list everybody is answered; with one, whoever one of them matches.
TEST(Host, AnswersToEveryNameWithoutAList) {
  EXPECT_TRUE(answers_to({}, "a.example"));
  EXPECT_TRUE(answers_to({}, ""));
  const std::vector<HostPattern> hosts{host("a.example"), host("*.b.example")};
  EXPECT_TRUE(answers_to(hosts, "a.example:80"));
  EXPECT_TRUE(answers_to(hosts, "x.b.example"));
  EXPECT_FALSE(answers_to(hosts, "b.example"));
  EXPECT_FALSE(answers_to(hosts, ""));
}

// Addresses and localhost are nobody else's; every other name may be.
TEST(Host, KnowsWhatIsLocal) {
  for (const std::string_view authority :
       {"127.0.0.1", "127.0.0.1:9080", "[::1]:9080", "10.0.0.7", "localhost", "LocalHost:9080", "semel.localhost"}) {
    EXPECT_TRUE(is_local(authority)) << authority;
  }
  for (const std::string_view authority :
       {"", "evil.test", "localhost.evil.test", "127.0.0.1.evil.test", "evillocalhost", ".localhost", "localhost:x"}) {
    EXPECT_FALSE(is_local(authority)) << authority;
  }
}

}  // namespace
}  // namespace semel::policy
