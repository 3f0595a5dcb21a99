// Calls and batches against a store that is turned by hand.
#include "api/work.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "api/batch.h"
#include "api/request.h"
#include "store/memory.h"
#include "support/faulty_store.h"
#include "support/virtual_clock.h"

namespace semel::test {
namespace {

using api::ApiCall;

class ApiWork : public testing::Test {
 protected:
  // The outcomes, or the statuses of problems, one after the other.
  std::string batch(ApiCall call, const std::string& text) {
    const auto request = api::read_batch(call, core::json::JsonView(text));
    if (!request) return std::to_string(request.error().status) + " " + request.error().pointer;
    shift = api::make_shift(clock, "urn:semel:problem:");
    shift->jobs = api::jobs_of(call, *request, token_for("orders"), rules, shift->base);
    api::start(&ledgers, call, shift, context.get_executor());
    context.restart();
    context.poll();
    return said();
  }
  std::string said() {
    std::string said;
    for (const api::ApiJob& job : shift->jobs) {
      said.append(said.empty() ? "" : " ");
      said += job.answer.outcome == api::ItemOutcome::refused ? std::to_string(job.answer.status)
                                                              : name(job.answer.outcome);
    }
    return said;
  }
  static std::string claims(const std::string& items) {
    return R"({"defaults":{"namespace":"orders","owner":"0123456789abcdef"},"items":[)" + items + "]}";
  }

  boost::asio::io_context context{1};
  VirtualClock clock;
  store::CapableStore opened = store::make_capable_memory_store(clock);
  FaultyStore faulty{*opened.store, clock, {}, opened.lookup};
  Once once{faulty, clock, 1};
  const api::Ledgers ledgers{.once = once, .clock = clock, .store = faulty, .lookup = faulty};
  std::shared_ptr<api::Shift> shift;
};

// Every item has its own answer; a key that stands there twice is refused the second time.
TEST_F(ApiWork, AnswersItemByItem) {
  EXPECT_EQ(
      batch(ApiCall::claim, claims(R"({"key":"a"},{"key":"b"},{"key":"a"},{"key":1},{"key":"c","namespace":"x"})")),
      "granted granted 400 400 403");
  EXPECT_EQ(batch(ApiCall::get, R"({"defaults":{"namespace":"orders"},"items":[{"key":"a"},{"key":"c"}]})"),
            "running free");
}

// One item that the store does not answer for keeps no other from its answer, and fails closed.
TEST_F(ApiWork, AStoreThatFailsForOneFailsForOne) {
  faulty.follow(faults_at({{.call = StoreCall::claim, .nth = 2, .fault = {.kind = FaultKind::refused}}}));
  EXPECT_EQ(batch(ApiCall::claim, claims(R"({"key":"a"},{"key":"b"},{"key":"c"})")), "granted 503 granted");
  EXPECT_EQ(batch(ApiCall::claim, claims(R"({"key":"a"},{"key":"b"},{"key":"c"})")), "granted granted granted")
      << "the same owner repeats the call";
}

// A store that is late fails closed for what it has not answered. The call is carried
// out all the same, and the same owner finds its claim.
TEST_F(ApiWork, WhatTheStoreDoesNotAnswerIsRefused) {
  const Fault slow{.kind = FaultKind::slow, .delay = Millis{10'000}};
  faulty.follow(faults_at({{.call = StoreCall::claim, .nth = 2, .fault = slow}}));
  batch(ApiCall::claim, claims(R"({"key":"a"},{"key":"b"})"));
  EXPECT_EQ(shift->left, 1U);
  EXPECT_FALSE(shift->jobs[1].answered());
  api::refuse_unanswered(*shift);
  EXPECT_EQ(said(), "granted 503");
  clock.advance(Millis{10'000});
  context.restart();
  context.poll();
  EXPECT_EQ(shift->left, 0U);
  EXPECT_EQ(batch(ApiCall::claim, claims(R"({"key":"b"})")), "granted");
}

// Events of one object are claimed from the oldest on, in whatever order they stand there.
TEST_F(ApiWork, EventsOfAnObjectGoInTheirOrder) {
  EXPECT_EQ(batch(ApiCall::claim, claims(R"({"key":"e3","order":{"object":"o","stamp":10}},
                                           {"key":"e1","order":{"object":"o","stamp":9}},
                                           {"key":"f1","order":{"object":"p","stamp":1}})")),
            "busy granted granted");
}

// Who waits makes no call of the store until the other attempt has ended: time alone wakes nobody.
TEST_F(ApiWork, WhoWaitsDoesNotPoll) {
  ASSERT_EQ(batch(ApiCall::claim, claims(R"({"key":"a"})")), "granted");
  const std::string& granted = shift->jobs[0].answer.body;
  const std::string fence = granted.substr(granted.find("1."), 18);
  batch(ApiCall::claim, R"({"items":[{"namespace":"orders","key":"a","owner":"another-owner-16","wait_ms":20000}]})");
  const std::shared_ptr<api::Shift> waits = shift;
  const std::uint64_t asked = faulty.count(FaultKind::none);
  for (int second = 0; second < 15; ++second) {
    clock.advance(Millis{1'000});
    context.restart();
    context.poll();
  }
  EXPECT_EQ(faulty.count(FaultKind::none), asked);
  EXPECT_EQ(waits->left, 1U);
  const std::string end = R"({"items":[{"namespace":"orders","key":"a","fence":")" + fence + R"("}]})";
  EXPECT_EQ(batch(ApiCall::release, end), "released");
  EXPECT_EQ(faulty.count(FaultKind::none), asked + 2) << "the release, and one claim of the waiter";
  ASSERT_EQ(waits->left, 0U);
  EXPECT_EQ(name(waits->jobs[0].answer.outcome), "granted");
}

// What has been completed before is told as done, and nothing is claimed for it.
TEST_F(ApiWork, TellsTheResult) {
  ASSERT_EQ(batch(ApiCall::claim, claims(R"({"key":"a"})")), "granted");
  const std::string& granted = shift->jobs[0].answer.body;
  const std::string fence = granted.substr(granted.find("1."), 18);
  const std::string end =
      R"({"items":[{"namespace":"orders","key":"a","fence":")" + fence + R"(","result":{"body":7}}]})";
  EXPECT_EQ(batch(ApiCall::complete, end), "completed");
  EXPECT_EQ(batch(ApiCall::complete, end), "completed");
  EXPECT_EQ(batch(ApiCall::claim, claims(R"({"key":"a"},{"key":"b"})")), "done granted");
  EXPECT_EQ(api::batch_text(shift->jobs).find(R"({"items":[{"outcome":"done","attempt":1)"), 0U);
}

// A request that is wrong as a whole claims nothing.
TEST_F(ApiWork, RefusesABatchAsAWhole) {
  std::string many = R"({"key":"0"})";
  for (int i = 1; i <= 500; ++i) many += R"(,{"key":")" + std::to_string(i) + "\"}";
  EXPECT_EQ(batch(ApiCall::claim, claims(many)), "400 /items");
  EXPECT_EQ(batch(ApiCall::claim, R"({"items":[]})"), "400 /items");
  EXPECT_EQ(batch(ApiCall::claim, R"({"items":[{}],"defaults":{"x":1}})"), "400 /defaults/x");
  EXPECT_EQ(batch(ApiCall::claim, R"({"items":[{}],"items":[{}]})"), "400 /items");
  EXPECT_EQ(batch(ApiCall::get, R"({"items":[{"namespace":"orders","key":"0"}]})"), "free");
}

}  // namespace
}  // namespace semel::test
