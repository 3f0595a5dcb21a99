// Who calls, what that token may reach, and how much of it.
#include "api/access.h"

#include <gtest/gtest.h>

#include "api/request.h"

namespace semel::test {
namespace {

using api::ApiCall;

// Only the whole secret, behind the right scheme.
TEST(ApiAccess, KnowsATokenByItsSecret) {
  config::ApiConfig config;
  config.tokens = {token_for("a"), token_for("b")};
  config.tokens[1].secret_sha256 = core::sha256("another-secret-16");
  EXPECT_EQ(api::token_of(config, "Bearer secret-of-worker"), &config.tokens[0]);
  EXPECT_EQ(api::token_of(config, "Bearer another-secret-16"), &config.tokens[1]);
  EXPECT_EQ(api::token_of(config, "bEARER  another-secret-16"), &config.tokens[1]) << "RFC 9110, 11.1";
  for (const char* const wrong :
       {"", "Bearer", "Bearer ", "Bearersecret-of-worker", "secret-of-worker", "Basic secret-of-worker",
        "Bearer secret-of-worke", "Bearer secret-of-workerr", "Bearer\tsecret-of-worker"}) {
    EXPECT_EQ(api::token_of(config, wrong), nullptr) << wrong;
  }
}

// A star stands for any end, and for nothing before it.
TEST(ApiAccess, ReachesItsNamespaces) {
  config::ApiToken token = token_for("orders");
  token.namespaces.emplace_back("jobs.*");
  for (const char* const space : {"orders", "jobs.", "jobs.a", "jobs.a.b"}) EXPECT_TRUE(api::reaches(token, space));
  for (const char* const space : {"", "order", "orders2", "jobs", "xjobs.a", "*", "Orders"}) {
    EXPECT_FALSE(api::reaches(token, space)) << space;
  }
  EXPECT_TRUE(api::reaches(token_for("*"), "anything"));
}

// Renewing belongs to those who claim and to those who end.
TEST(ApiAccess, GivesRights) {
  config::ApiToken token = token_for("a");
  token.may = {.claim = false, .end = true, .get = false};
  EXPECT_FALSE(api::may(token, ApiCall::claim));
  EXPECT_TRUE(api::may(token, ApiCall::renew));
  EXPECT_TRUE(api::may(token, ApiCall::complete));
  EXPECT_TRUE(api::may(token, ApiCall::release));
  EXPECT_FALSE(api::may(token, ApiCall::get));
  token.may = {.claim = true, .end = false, .get = true};
  EXPECT_TRUE(api::may(token, ApiCall::claim));
  EXPECT_TRUE(api::may(token, ApiCall::renew));
  EXPECT_FALSE(api::may(token, ApiCall::complete));
}

// Items are counted. A batch that is over leaves a debt, so that batches are no way around the rate.
TEST(ApiAccess, CountsItems) {
  api::Rates rates;
  config::ApiToken token = token_for("a");
  Time now{Millis{1'000'000}};
  EXPECT_FALSE(rates.take(token, 500, now)) << "no rate, no limit";
  token.rate = reading::Rate{.count = 10, .per = Millis{1'000}};
  EXPECT_FALSE(rates.take(token, 30, now));
  const auto wait = rates.take(token, 1, now);
  ASSERT_TRUE(wait);
  EXPECT_NEAR(static_cast<double>(wait->count()), 2'100, 5);
  EXPECT_TRUE(rates.take(token, 1, now + Millis{2'000}));
  EXPECT_FALSE(rates.take(token, 1, now + Millis{2'200}));
}

}  // namespace
}  // namespace semel::test
