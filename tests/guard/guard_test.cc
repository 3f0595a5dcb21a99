// The middleware over plain values. What it shares with the gateway is tested there and by the scenarios; this is about
// what is its own: rules that cannot be read, handlers that fail, both ways to wait, webhooks in one call.
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "support/run.h"
#include "support/virtual_clock.h"
#include <semel/blocking_once.h>
#include <semel/clock.h>
#include <semel/guard.h>
#include <semel/once.h>
#include <semel/stores.h>
#include <semel/webhook.h>

namespace semel::test {
namespace {

std::string field(const Response& response, const std::string& name) {
  for (const Field& one : response.fields) {
    if (one.name == name) return one.value;
  }
  return "";
}

class GuardTest : public testing::Test {
 protected:
  static Guard guard(const Guard::Rules& rules = {}) {
    auto made = Guard::make(rules);
    if (!made) throw std::runtime_error(made.error().detail);
    return *std::move(made);
  }

  HttpRequest request(std::string_view method = "POST", std::string_view body = "{}") {
    return {.method = method, .target = "/payments", .fields = fields_, .body = body, .ip = "127.0.0.1"};
  }

  BlockingHandler saying(std::uint16_t status, std::string body = "done") {
    return [this, status, body](Fence) {
      ++runs_;
      return Response{.status = status, .fields = {{"Set-Cookie", "a=1"}}, .body = body};
    };
  }

  std::vector<FieldView> fields_{{"Idempotency-Key", "k1"}, {"Authorization", "Bearer me"}};
  int runs_ = 0;
  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::unique_ptr<Store> store_ = make_memory_store(*clock_).store;
  BlockingOnce once_{*store_, *clock_, 7};
};

// The first caller gets all that the handler said; a replay gets what is kept of it, and is marked.
TEST_F(GuardTest, RunsOnceAndReplays) {
  const Guard all = guard();
  const Response first = all.run(once_, request(), saying(201));
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(field(first, "Set-Cookie"), "a=1");
  EXPECT_NE(field(first, "Idempotency-Expires"), "");
  const Response again = all.run(once_, request(), saying(500));
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(again.body, "done");
  EXPECT_EQ(field(again, "Idempotent-Replayed"), "true");
  EXPECT_EQ(field(again, "Set-Cookie"), "");
  EXPECT_EQ(runs_, 1);
}

// A handler that throws leaves an unknown outcome: 502 for its caller, 409 for the next, and no second run.
TEST_F(GuardTest, HandlerThatThrowsIsUnknown) {
  const Guard all = guard();
  const auto broken = [](Fence) -> Response { throw std::runtime_error("broken"); };
  EXPECT_EQ(all.run(once_, request(), broken).status, 502);
  const Response next = all.run(once_, request(), saying(201));
  EXPECT_EQ(next.status, 409);
  EXPECT_NE(next.body.find("outcome-unknown"), std::string::npos);
  EXPECT_EQ(runs_, 0);
}

// Where nothing is guarded a handler that throws is a 500, and the exception stays inside.
TEST_F(GuardTest, UnguardedHandlerThatThrowsIs500) {
  const auto broken = [](Fence) -> Response { throw std::runtime_error("broken"); };
  EXPECT_EQ(guard().run(once_, request("GET"), broken).status, 500);
}

// Methods that are not listed go straight to the handler, each time, with fence 0.
TEST_F(GuardTest, PassesWhatIsNotGuarded) {
  const Guard all = guard();
  std::uint64_t fence = 9;
  const auto handle = [&](Fence given) {
    ++runs_;
    fence = given.number;
    return Response();
  };
  (void)all.run(once_, request("GET"), handle);
  (void)all.run(once_, request("GET"), handle);
  EXPECT_EQ(runs_, 2);
  EXPECT_EQ(fence, 0U);
}

// A body over the limit is refused before anything is claimed.
TEST_F(GuardTest, RefusesABodyOverTheLimit) {
  EXPECT_EQ(guard({.body_bytes_max = 3}).run(once_, request("POST", "1234"), saying(201)).status, 413);
  EXPECT_EQ(runs_, 0);
}

// The coroutine goes the same way.
TEST_F(GuardTest, RunsOnCoroutines) {
  boost::asio::io_context context(1);
  Once once(*store_, *clock_, 8);
  const Guard all = guard();
  const auto answer = [](int* runs) -> Task<Response> {
    ++*runs;
    co_return Response{.status = 201, .fields = {}, .body = "made"};
  };
  const auto handler = [&] { return Handler([this, answer](Fence) { return answer(&runs_); }); };
  EXPECT_EQ(run(context, all.run(once, request(), handler())).status, 201);
  EXPECT_EQ(field(run(context, all.run(once, request(), handler())), "Idempotent-Replayed"), "true");
  EXPECT_EQ(runs_, 1);
}

// Whatever runs actions once will do: here one that is always refused.
TEST_F(GuardTest, TakesAnyRunner) {
  const auto refusing = [](const Key&, const Fingerprint&, const Policy&, BlockingAction) -> Answer {
    return Refused{.problem = Problem::of(ProblemType::store_unavailable), .retry_after = Millis{2'000}, .detail = {}};
  };
  const Response reply = guard().run(refusing, request(), saying(201));
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(field(reply, "Retry-After"), "2");
}

// Rules that cannot be read are refused when the guard is made, in words that say which.
TEST_F(GuardTest, SaysWhatIsWrongWithItsRules) {
  const auto trouble = [](const Guard::Rules& rules) {
    const auto made = Guard::make(rules);
    return made ? std::string("fine") : made.error().detail;
  };
  EXPECT_NE(trouble({.key_from = "{header:"}).find("key_from"), std::string::npos);
  EXPECT_NE(trouble({.scope = "{nothing:x}"}).find("scope"), std::string::npos);
  EXPECT_NE(trouble({.keep = {{"9xx", Verdict::keep}}}).find("keep"), std::string::npos);
  EXPECT_NE(trouble({.space = std::string(65, 'x')}), "fine");
  EXPECT_NE(trouble({.ignore = {"no-slash"}}), "fine");
}

constexpr std::string_view github_body = R"({"action":"opened"})";
// echo -n '{"action":"opened"}' | openssl dgst -sha256 -hmac secret
std::vector<FieldView> github_fields(std::string_view signature) {
  return {{"X-GitHub-Delivery", "d-1"}, {"X-GitHub-Event", "issues"}, {"X-Hub-Signature-256", signature}};
}
constexpr std::string_view github_signature = "sha256=d42142b53efbc7cf5cd20b6e074eb33707e0de3b368f698e6d6f6c824ffb8d37";

// Verification in one call: authentic or not, with the word for why not.
TEST_F(GuardTest, VerifiesAWebhookInOneCall) {
  const auto fields = github_fields(github_signature);
  const HttpRequest delivery{.method = "POST", .target = "/hook", .fields = fields, .body = github_body, .ip = {}};
  const auto event = verify("github", {"old", "secret"}, delivery, *clock_);
  ASSERT_TRUE(event) << event.error().detail;
  EXPECT_EQ(event->type, "issues");
  const auto forged = verify("github", {"other"}, delivery, *clock_);
  ASSERT_FALSE(forged);
  EXPECT_NE(forged.error().detail.find("mismatch"), std::string::npos) << forged.error().detail;
  EXPECT_FALSE(verify("github", {}, delivery, *clock_));
  EXPECT_FALSE(verify("no-such-provider", {"secret"}, delivery, *clock_));
}

// The age of a signature is told by the wall clock as it is now, wherever it was set since the start.
TEST_F(GuardTest, TellsTheAgeOfASignatureByTheWallClock) {
  const std::vector<FieldView> fields{
      {.name = "Stripe-Signature",
       .value = "t=1700000000,v1=83c8c1691a8397c211d6cbfb69ab1525df021f97e43bd353deb8f2e93c183071"}};
  const HttpRequest delivery{
      .method = "POST",
      .target = "/hook",
      .fields = fields,
      .body = R"({"id":"evt_golden_0001","type":"invoice.paid","created":1700000000,"note":"café ☕","amount":4200})",
      .ip = {}};
  const std::vector<std::string> secrets{"whsec_goldenStripeSecret0123456789"};
  VirtualClock clock(Time(std::chrono::seconds(1'700'000'000)));
  EXPECT_TRUE(verify("stripe", secrets, delivery, clock));
  clock.set_wall_ahead(Millis{600'000});
  EXPECT_FALSE(verify("stripe", secrets, delivery, clock));
  clock.advance(Millis{600'000});
  clock.set_wall_ahead(Millis{-600'000});
  EXPECT_TRUE(verify("stripe", secrets, delivery, clock));
}

// A window for a time that nobody signs is a mistake.
TEST_F(GuardTest, WantsATimeForATolerance) {
  EXPECT_FALSE(WebhookVerifier::make("github", {"secret"}, *clock_, {.tolerance = Millis{1'000}}));
  EXPECT_TRUE(WebhookVerifier::make("stripe", {"secret"}, *clock_, {.tolerance = Millis{1'000}}));
}

// A guard with a verifier is a webhook endpoint: forged deliveries are refused, an event runs once.
TEST_F(GuardTest, GuardsAWebhook) {
  const auto verifier = WebhookVerifier::make("github", {"secret"}, *clock_);
  ASSERT_TRUE(verifier) << verifier.error().detail;
  Guard::Rules rules;
  rules.webhook = *verifier;
  const Guard hook = guard(rules);
  const auto fields = github_fields(github_signature);
  const HttpRequest delivery{.method = "POST", .target = "/hook", .fields = fields, .body = github_body, .ip = {}};
  EXPECT_EQ(hook.run(once_, delivery, saying(503)).status, 503);  // fails, so the next delivery runs
  EXPECT_EQ(hook.run(once_, delivery, saying(200)).status, 200);
  EXPECT_EQ(field(hook.run(once_, delivery, saying(200)), "Idempotent-Replayed"), "true");
  EXPECT_EQ(runs_, 2);
  const auto bad = github_fields("sha256=00");
  const HttpRequest forged{.method = "POST", .target = "/hook", .fields = bad, .body = github_body, .ip = {}};
  EXPECT_EQ(hook.run(once_, forged, saying(200)).status, 401);
  EXPECT_EQ(runs_, 2);
}

}  // namespace
}  // namespace semel::test
