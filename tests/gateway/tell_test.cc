// From an answer of once() to what the client is told, without any network.
#include "gateway/tell.h"

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include "core/shape.h"
#include "gateway/job.h"
#include "gateway/joint_claim.h"
#include "gateway/told.h"
#include "gateway/world.h"
#include "once/fixture.h"
#include "policy/target.h"
#include "support/fake_transaction.h"
#include "telemetry/cause.h"
#include "telemetry/metrics.h"
#include <semel/fingerprint.h>
#include <semel/once.h>
#include <semel/problem.h>
#include <semel/response.h>

namespace semel::gateway {
namespace {

using telemetry::Ending;

class TellTest : public testing::Test {
 protected:
  Told told(Answer answer, std::optional<Told> first = std::nullopt) {
    JointAnswer joint{.answer = std::move(answer)};
    return tell(incoming, job, joint, first);
  }
  [[nodiscard]] Time later() const { return world.clock.now() + Millis{60'000}; }

  test::World world;
  test::FakeTransaction client{world.context.get_executor(), "POST", "/payments"};
  Incoming incoming = world.incoming(client);
  policy::Target target;
  Job job{.target = &target,
          .request = {},
          .identity = {.key = test::key_of(1), .fingerprint = test::fingerprint_of(1), .key_text = {}}};
};

const Response& own(const Told& told) {
  return std::get<OwnReply>(told.reply).response;
}

bool has(const Response& response, std::string_view name) {
  for (const Field& field : response.fields) {
    if (field.name == name) return true;
  }
  return false;
}

// An answer of before, with its mark; from now on this thread answers it without the store.
TEST_F(TellTest, ReplaysAndRemembers) {
  const SharedResponse before = test::response_of("charged");
  const Told again = told(
      Replayed{.response = before, .fence = {.number = 3, .owner = {}}, .expires_at = later(), .holds_until = later()});
  EXPECT_EQ(again.ending, Ending::replayed);
  EXPECT_EQ(again.fence, 3U);
  EXPECT_EQ(own(again).status, 201);
  EXPECT_TRUE(has(own(again), "Idempotent-Replayed"));
  EXPECT_EQ(std::get<OwnReply>(again.reply).stored, before);
  const ReplayCache::Entry* const hot = world.replays.find(test::key_of(1));
  ASSERT_NE(hot, nullptr);
  EXPECT_EQ(hot->response, before);
}

// A record that cannot be a response is refused, and is not remembered.
TEST_F(TellTest, RefusesADamagedRecord) {
  const SharedResponse damaged = std::make_shared<const Response>(Response{.status = 7, .fields = {}, .body = {}});
  const Told refused = told(Replayed{.response = damaged, .fence = {}, .expires_at = later(), .holds_until = later()});
  EXPECT_EQ(refused.problem, ProblemType::record_corrupt);
  EXPECT_EQ(world.replays.find(test::key_of(1)), nullptr);
}

// The caller whose request ran hears what its attempt left; the key's end is on it only if it was kept.
TEST_F(TellTest, TellsTheFirstCaller) {
  const Ran kept{.outcome = test::kept("x"), .fence = {.number = 2, .owner = {}}, .expires_at = later()};
  const Told first = told(kept, told_plainly(Ending::ran, 200, "done"));
  EXPECT_EQ(first.fence, 2U);
  EXPECT_TRUE(has(own(first), "Idempotency-Expires"));

  const Ran released{.outcome = {.verdict = Verdict::release, .response = test::response_of("")},
                     .fence = {.number = 4, .owner = {}},
                     .expires_at = later()};
  const Told second = told(released, told_plainly(Ending::released, 503, "busy"));
  EXPECT_EQ(second.fence, 4U);
  EXPECT_FALSE(has(own(second), "Idempotency-Expires"));
}

// A refusal is its problem; the store's own words are for the log only.
TEST_F(TellTest, TellsARefusal) {
  const Told refused = told(Refused{.problem = Problem::of(ProblemType::in_flight),
                                    .retry_after = Millis{2'000},
                                    .detail = "connection to 10.0.0.7"});
  EXPECT_EQ(refused.ending, Ending::refused);
  EXPECT_EQ(refused.problem, ProblemType::in_flight);
  EXPECT_EQ(own(refused).status, 409);
  EXPECT_TRUE(has(own(refused), "Retry-After"));
  EXPECT_EQ(own(refused).body.find("10.0.0.7"), std::string::npos);
  EXPECT_EQ(refused.detail, "connection to 10.0.0.7");
}

// It ran, but its outcome could not be stored: unknown, with the time that its upstream took.
TEST_F(TellTest, TellsThatAnOutcomeWasNotKept) {
  Told first = told_plainly(Ending::ran, 200, "done");
  first.upstream_time = std::chrono::milliseconds{40};
  const Told lost = told(Refused{.problem = Problem::of(ProblemType::outcome_unknown), .retry_after = {}, .detail = {}},
                         std::move(first));
  EXPECT_EQ(lost.ending, Ending::unknown);
  EXPECT_EQ(lost.upstream_time, std::chrono::milliseconds{40});
  EXPECT_EQ(lost.problem, ProblemType::outcome_unknown);
  EXPECT_EQ(lost.cause, telemetry::Cause::store);
}

// What differs from the request that has the key is told to the log, if that request has run here; otherwise nothing.
TEST_F(TellTest, TellsWhatDiffers) {
  const core::Print ran = core::print({.method = "POST", .target = "/a", .body = "1"}, BodyForm::raw, {});
  const core::Print asked = core::print({.method = "POST", .target = "/a", .body = "2"}, BodyForm::raw, {});
  job.identity.shape = asked.shape;
  const Refused reused{
      .problem = Problem::of(ProblemType::key_reused), .retry_after = {}, .detail = {}, .holder = ran.fingerprint};
  EXPECT_EQ(told(reused).differs, "");
  world.services.shapes.put(ran.fingerprint, ran.shape);
  EXPECT_EQ(told(reused).differs, "body");
}

// That an answer was waited for is told apart from one that was there.
TEST_F(TellTest, TellsThatItWaited) {
  Replayed after{.response = test::response_of("x"), .fence = {}, .expires_at = later(), .holds_until = later()};
  EXPECT_FALSE(told(after).waited);
  after.waited = true;
  EXPECT_TRUE(told(after).waited);
}

}  // namespace
}  // namespace semel::gateway
