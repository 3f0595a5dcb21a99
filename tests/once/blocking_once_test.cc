// once() for plain threads: the same answers, actions on the caller's thread, and every misuse with a defined end.
#include <atomic>
#include <filesystem>
#include <future>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "once/fixture.h"
#include "support/faulty_store.h"
#include <semel/blocking_once.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/problem.h>
#include <semel/stores.h>

namespace semel::test {
namespace {

class BlockingOnceTest : public testing::Test {
 protected:
  Answer call(BlockingAction action, Policy policy = {}, std::uint8_t key = 1, std::uint8_t fingerprint = 1,
              BlockingProbe probe = {}) {
    return once.run(key_of(key), fingerprint_of(fingerprint), policy, std::move(action), std::move(probe));
  }

  std::unique_ptr<Clock> clock = make_system_clock();
  std::unique_ptr<Store> store = make_memory_store(*clock).store;
  BlockingOnce once{*store, *clock, 42};
};

BlockingAction saying(Outcome outcome, int* runs = nullptr) {
  return [outcome, runs](Fence) {
    if (runs != nullptr) ++*runs;
    return outcome;
  };
}

ProblemType problem_of(const Answer& answer) {
  return refused(answer).problem.type;
}

// The action runs on the thread that asked, once, and the second call gets its answer.
TEST_F(BlockingOnceTest, RunsOnTheCallersThreadAndReplays) {
  std::thread::id ran_on;
  const auto act = [&](Fence fence) {
    ran_on = std::this_thread::get_id();
    EXPECT_EQ(fence.number, 1U);
    return kept("first");
  };
  EXPECT_EQ(ran(call(act)).outcome.response->body, "first");
  EXPECT_EQ(ran_on, std::this_thread::get_id());
  int runs = 0;
  EXPECT_EQ(replayed(call(saying(kept("second"), &runs))).response->body, "first");
  EXPECT_EQ(runs, 0);
}

// Failed for good is an answer like any other: remembered and replayed.
TEST_F(BlockingOnceTest, RemembersAFailureForGood) {
  const Outcome declined = semel::Outcome::kept({.status = 402, .fields = {}, .body = "declined"});
  EXPECT_EQ(ran(call(saying(declined))).outcome.response->status, 402);
  EXPECT_EQ(replayed(call(saying(kept("other")))).response->status, 402);
}

// Failed, let a retry run: this caller hears so, and the next one runs with the next fence.
TEST_F(BlockingOnceTest, LetsARetryRunAfterRelease) {
  const Outcome busy = semel::Outcome::released({.status = 503, .fields = {}, .body = "busy"});
  EXPECT_EQ(ran(call(saying(busy))).outcome.response->body, "busy");
  EXPECT_EQ(ran(call(saying(kept("done")))).fence.number, 2U);
}

// "Do not know" is told to this caller and to later ones, and nothing runs again under hold.
TEST_F(BlockingOnceTest, HoldsAnUnknownOutcome) {
  EXPECT_EQ(problem_of(call(saying(Outcome::unknown()))), ProblemType::outcome_unknown);
  int runs = 0;
  EXPECT_EQ(problem_of(call(saying(kept("again"), &runs))), ProblemType::outcome_unknown);
  EXPECT_EQ(runs, 0);
}

// An exception may come after an effect: it counts as unknown, and does not leave run().
TEST_F(BlockingOnceTest, TakesAnExceptionForUnknown) {
  const auto act = [](Fence) -> Outcome { throw std::runtime_error("after the effect, perhaps"); };
  EXPECT_EQ(problem_of(call(act)), ProblemType::outcome_unknown);
}

// A probe runs on the caller's thread too, and what it found becomes the answer.
TEST_F(BlockingOnceTest, AsksTheProbe) {
  const Policy policy{.on_unknown = Policy::OnUnknown::probe};
  (void)call(saying(Outcome::unknown()), policy);
  std::thread::id asked_on;
  const auto probe = [&] {
    asked_on = std::this_thread::get_id();
    return kept("found");
  };
  EXPECT_EQ(replayed(call(saying(kept("again")), policy, 1, 1, probe)).response->body, "found");
  EXPECT_EQ(asked_on, std::this_thread::get_id());
}

// Another request under the same key is refused, whatever the first one did.
TEST_F(BlockingOnceTest, RefusesAnotherRequestUnderOneKey) {
  (void)call(saying(kept("first")));
  EXPECT_EQ(problem_of(call(saying(kept("second")), {}, 1, 2)), ProblemType::key_reused);
}

// Of many threads that ask at once one runs; those who wait get its answer.
TEST_F(BlockingOnceTest, RunsOnceForManyThreads) {
  constexpr int threads = 16;
  std::atomic<int> runs = 0;
  std::atomic<int> right = 0;
  std::latch start(threads);
  const Policy policy{.in_flight = Policy::InFlight::wait};
  const auto ask = [&] {
    start.arrive_and_wait();
    const Answer answer = call(
        [&](Fence) {
          ++runs;
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          return kept("one");
        },
        policy);
    const auto* first = std::get_if<Ran>(&answer);
    const auto* later = std::get_if<Replayed>(&answer);
    const SharedResponse response = first != nullptr   ? first->outcome.response
                                    : later != nullptr ? later->response
                                                       : nullptr;
    if (response != nullptr && response->body == "one") ++right;
  };
  std::vector<std::jthread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(ask);
  all.clear();
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(right, threads);
}

// An action may ask for another key, through the same object, on the same thread.
TEST_F(BlockingOnceTest, MayBeCalledFromWithinAnAction) {
  const auto outer = [&](Fence) {
    EXPECT_EQ(ran(call(saying(kept("inner")), {}, 2)).outcome.response->body, "inner");
    return kept("outer");
  };
  EXPECT_EQ(ran(call(outer)).outcome.response->body, "outer");
}

// The lease is renewed while the action blocks its thread for longer than that.
TEST_F(BlockingOnceTest, KeepsTheLeaseWhileTheActionBlocks) {
  const Policy policy{.lease = Millis{150}};
  const auto slow = [&](Fence) {
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    EXPECT_EQ(problem_of(call(saying(kept("second")), policy)), ProblemType::in_flight);
    return kept("slow");
  };
  EXPECT_EQ(ran(call(slow, policy)).outcome.response->body, "slow");
}

// After close() nothing runs; what was under way has ended before it returns, with its answer kept.
TEST_F(BlockingOnceTest, RefusesAfterCloseAndWaitsForWhatRuns) {
  std::promise<void> running;
  std::atomic<bool> over = false;
  std::jthread caller([&] {
    const Answer answer = call([&](Fence) {
      running.set_value();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      over = true;
      return kept("under way");
    });
    EXPECT_EQ(ran(answer).outcome.response->body, "under way");
  });
  running.get_future().wait();
  once.close();
  EXPECT_TRUE(over);
  int runs = 0;
  EXPECT_EQ(problem_of(call(saying(kept("late"), &runs))), ProblemType::store_unavailable);
  EXPECT_EQ(runs, 0);
  once.close();
}

// A key that is too long is refused where keys are made, with a message that says so.
TEST_F(BlockingOnceTest, KeyTooLongIsRefusedBeforeAnythingIsAsked) {
  const auto key = make_key("payments", "customer-7", std::string(256, 'k'));
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().code, Code::invalid);
  EXPECT_NE(key.error().detail.find("255"), std::string::npos) << key.error().detail;
}

// Terms that make no sense are refused by the store and say which; nothing runs.
TEST_F(BlockingOnceTest, RefusesAPolicyThatMakesNoSense) {
  int runs = 0;
  const Answer answer = call(saying(kept("x"), &runs), {.ttl = Millis{0}});
  EXPECT_EQ(runs, 0);
  EXPECT_NE(refused(answer).detail.find("ttl"), std::string::npos) << refused(answer).detail;
}

// Completing a claim twice changes nothing and fails nothing; completing another's claim is fenced.
TEST_F(BlockingOnceTest, TheStoreTakesACompletionTwice) {
  boost::asio::io_context context(1);
  const auto both = [](Store* at) -> Async<void> {
    const Terms terms{.owner = 5};
    const auto claim = co_await at->claim(key_of(9), fingerprint_of(1), terms);
    const Fence fence = std::get<Granted>(*claim).fence;
    EXPECT_TRUE(co_await at->complete(key_of(9), fence, response_of("one")));
    EXPECT_TRUE(co_await at->complete(key_of(9), fence, response_of("two")));
    const Fence other{.number = fence.number, .owner = 6};
    const auto fenced = co_await at->complete(key_of(9), other, response_of("three"));
    EXPECT_EQ(fenced.error().code, Code::fenced);
    co_return Result<void>();
  };
  boost::asio::co_spawn(context, both(store.get()),
                        [](const std::exception_ptr& error, const Result<void>&) { EXPECT_EQ(error, nullptr); });
  context.run();
}

}  // namespace
}  // namespace semel::test
