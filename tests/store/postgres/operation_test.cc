// Operations of several steps: a retry resumes after the last step that has finished.
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "store/postgres/own_connection.h"
#include <semel/derived_key.h>
#include <semel/once.h>
#include <semel/operation.h>
#include <semel/problem.h>

namespace semel::test {
namespace {

class OperationTest : public OwnConnectionTest {
 protected:
  Answer call(OperationBody body, Policy policy = {}, std::uint8_t fingerprint = 1) {
    return run_operation(connection_.get(), key(), print(fingerprint), policy, std::move(body));
  }

  // Two steps, the second of which ends as `second` says.
  OperationBody two_steps(BlockingAction second) {
    return [this, second = std::move(second)](Operation& operation) mutable -> Outcome {
      const SharedResponse reserved = operation.step("reserve", paying(connection_, "reserve"));
      if (reserved == nullptr) return Outcome::unknown();
      const SharedResponse paid = operation.step("pay", std::move(second));
      if (paid == nullptr) return Outcome::unknown();
      return Outcome::kept(created(reserved->body + " " + paid->body));
    };
  }
};

// All steps run once, and the operation has one answer.
TEST_F(OperationTest, RunsItsStepsAndReplaysItsAnswer) {
  EXPECT_EQ(body_of(call(two_steps(paying(connection_, "pay")))), "ran reserve pay");
  EXPECT_EQ(effects(), "2");
  int runs = 0;
  const auto again = [&](Operation&) {
    ++runs;
    return Outcome::kept(created("other"));
  };
  EXPECT_EQ(body_of(call(again)), "replayed reserve pay");
  EXPECT_EQ(runs, 0);
}

// A step that failed lets a retry run; the steps before it are not run again.
TEST_F(OperationTest, ResumesAfterTheLastFinishedStep) {
  const auto busy = [](Fence) { return Outcome::released({.status = 503, .fields = {}, .body = "busy"}); };
  EXPECT_EQ(body_of(call(two_steps(busy))), "ran busy");
  EXPECT_EQ(effects(), "1");
  EXPECT_EQ(body_of(call(two_steps(paying(connection_, "pay")))), "ran reserve pay");
  EXPECT_EQ(effects(), "2");
}

// A step that throws is rolled back, and the retry runs just that step.
TEST_F(OperationTest, RollsBackAStepThatThrows) {
  const auto broken = [&](Fence) -> Outcome {
    connection_.run("INSERT INTO effects VALUES ('half')");
    throw std::runtime_error("broken");
  };
  EXPECT_EQ(std::get<Ran>(call(two_steps(broken))).outcome.verdict, Verdict::release);
  EXPECT_EQ(effects(), "1");
  EXPECT_EQ(body_of(call(two_steps(paying(connection_, "pay")))), "ran reserve pay");
  EXPECT_EQ(effects(), "2");
}

// A failure for good is a recovery point too: the body sees it again, and ends the operation with it.
TEST_F(OperationTest, RemembersAStepThatFailedForGood) {
  int asked = 0;
  const auto body = [&](Operation& operation) -> Outcome {
    const auto declined = [&](Fence) {
      ++asked;
      return Outcome::kept({.status = 402, .fields = {}, .body = "declined"});
    };
    const SharedResponse paid = operation.step("pay", declined);
    if (paid == nullptr) return Outcome::unknown();
    if (asked == 1) throw std::runtime_error("dies between the step and the end");
    return Outcome::kept(*paid);
  };
  (void)call(body);
  asked = 10;
  EXPECT_EQ(body_of(call(body)), "ran declined");
  EXPECT_EQ(asked, 10);
}

// The key for the outside world is the same in every attempt, and another one for every step and operation.
TEST_F(OperationTest, HandsOutStableKeysForOthers) {
  std::vector<std::string> seen;
  const auto body = [&](Operation& operation) -> Outcome {
    seen.push_back(operation.key_for("pay"));
    EXPECT_NE(operation.key_for("pay"), operation.key_for("mail"));
    return Outcome::released(created("again"));
  };
  (void)call(body);
  (void)call(body);
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0], derived_key(key(), "pay"));
  EXPECT_EQ(seen[0].size(), 64U);
  EXPECT_NE(seen[0], derived_key(key("order-2"), "pay"));
}

// Another request under the same key is refused although the operation has no answer yet.
TEST_F(OperationTest, RefusesAnotherRequestInTheMiddle) {
  const auto busy = [](Fence) { return Outcome::released(created("busy")); };
  (void)call(two_steps(busy));
  EXPECT_EQ(refusal_of(call(two_steps(paying(connection_, "pay")), {}, 2)).problem.type, ProblemType::key_reused);
  EXPECT_EQ(effects(), "1");
}

// Several callers at once share the steps out: each effect happens once, and all get the same answer.
TEST_F(OperationTest, ConcurrentCallersDoEachStepOnce) {
  std::vector<std::string> answers(8);
  {
    std::vector<std::jthread> callers;
    for (std::string& answer : answers) {
      callers.emplace_back([&] {
        const DatabaseConnection own(url_);
        const auto body = [&](Operation& operation) -> Outcome {
          if (operation.step("one", paying(own, "one")) == nullptr) return Outcome::unknown();
          if (operation.step("two", paying(own, "two")) == nullptr) return Outcome::unknown();
          return Outcome::kept(created("done"));
        };
        answer = body_of(run_operation(own.get(), key(), print(), {}, body));
      });
    }
  }
  for (const std::string& answer : answers) EXPECT_TRUE(answer.ends_with(" done")) << answer;
  EXPECT_EQ(effects(), "2");
}

}  // namespace
}  // namespace semel::test
