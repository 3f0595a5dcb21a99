// [api] and its tokens: what is read, and what is refused with its line.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/sha256.h"
#include "support/rules.h"

namespace semel::config {
namespace {

constexpr const char* token = R"(
[api]
listen = "127.0.0.1:8090"
[[api.token]]
name = "worker"
secret = "env:T"
namespaces = ["orders", "jobs.*"]
)";

test::FakeResolver resolver() {
  test::FakeResolver made;
  made.variables = {{"T", "0123456789abcdef"}, {"U", "fedcba9876543210"}, {"SHORT", "short"}};
  return made;
}

std::vector<std::string> errors(const std::string& text) {
  std::vector<std::string> messages;
  const auto parsed = parse_config(text, "c", resolver());
  if (parsed) return messages;
  for (const reading::Issue& issue : parsed.error()) messages.push_back(reading::to_text(issue));
  return messages;
}

// A file with the API alone is whole: no route, no upstream. The secret is kept as a hash only.
TEST(ApiSection, NeedsNoRoute) {
  const auto parsed = parse_config(token, "c", resolver());
  ASSERT_TRUE(parsed);
  const ApiConfig& api = parsed->config.api;
  ASSERT_TRUE(api.listen);
  EXPECT_EQ(api.listen->port, 8090);
  ASSERT_EQ(api.tokens.size(), 1U);
  EXPECT_EQ(api.tokens[0].secret_sha256, core::sha256("0123456789abcdef"));
  EXPECT_EQ(api.tokens[0].namespaces, (std::vector<std::string>{"orders", "jobs.*"}));
  EXPECT_TRUE(api.tokens[0].may.claim && api.tokens[0].may.end && api.tokens[0].may.get);
  EXPECT_FALSE(api.tokens[0].scope);
}

// Everything that a token may say.
TEST(ApiSection, ReadsTheTermsOfAToken) {
  const std::string text = std::string(token) + R"(may = ["end"]
scope = "tenant-7"
lease_max = "10s"
ttl_max = "1h"
rate = "5/s"
)";
  const auto parsed = parse_config(text, "c", resolver());
  ASSERT_TRUE(parsed);
  const ApiToken& read = parsed->config.api.tokens[0];
  EXPECT_TRUE(!read.may.claim && read.may.end && !read.may.get);
  EXPECT_EQ(read.scope, "tenant-7");
  EXPECT_EQ(read.lease_max, Millis{10'000});
  EXPECT_EQ(read.ttl_max, Millis{3'600'000});
  ASSERT_TRUE(read.rate);
  EXPECT_EQ(read.rate->count, 5U);
}

// Each mistake is named.
TEST(ApiSection, RefusesWhatCannotBeMeant) {
  const auto one = [](const std::string& text) {
    const std::vector<std::string> found = errors(text);
    return found.size() == 1 ? found.front() : "not one error but " + std::to_string(found.size());
  };
  const std::string head = "[api]\nlisten = \"127.0.0.1:8090\"\n";
  EXPECT_NE(one(head).find("has no [[api.token]]"), std::string::npos);
  const std::string begin = head + "[[api.token]]\nname = \"a\"\n";
  EXPECT_NE(one(begin + "secret = \"env:SHORT\"\nnamespaces = [\"a\"]\n").find("shorter than 16"), std::string::npos);
  EXPECT_NE(one(begin + "secret = \"env:T\"\nnamespaces = [\"a*b\"]\n").find("at the end only"), std::string::npos);
  EXPECT_NE(one(begin + "secret = \"env:T\"\nnamespaces = []\n").find("namespaces is empty"), std::string::npos);
  EXPECT_NE(one(begin + "secret = \"env:T\"\nnamespaces = [\"a\"]\nmay = [\"clam\"]\n").find("claim"),
            std::string::npos);
  EXPECT_NE(one(begin + "secret = \"env:T\"\nnamespaces = [\"a\"]\nmay = []\n").find("may is empty"),
            std::string::npos);
  const std::string again =
      std::string(token) + "[[api.token]]\nname = \"worker\"\nsecret = \"env:U\"\nnamespaces = [\"a\"]\n";
  EXPECT_NE(one(again).find("two tokens"), std::string::npos);
  const std::string same =
      std::string(token) + "[[api.token]]\nname = \"b\"\nsecret = \"env:T\"\nnamespaces = [\"a\"]\n";
  EXPECT_NE(one(same).find("same secret"), std::string::npos);
  EXPECT_NE(one(std::string("[admin]\nlisten = \"127.0.0.1:8090\"\n") + token).find("same address"), std::string::npos);
}

}  // namespace
}  // namespace semel::config
