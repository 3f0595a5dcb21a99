// What an operator's act makes of each thing that can be stored under a key.
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "core/settlement.h"
#include "core/transition.h"
#include "core/transition_cases.h"

namespace semel::test {
namespace {

using Verdict = core::Settlement::Verdict;

constexpr std::uint64_t act = 99;

core::Settlement settlement(Verdict verdict, Fence fence = held_fence) {
  return {
      .fence = fence, .verdict = verdict, .response = verdict == Verdict::done ? answer("real") : nullptr, .act = act};
}

core::HolderStep settled(Stored stored, const core::Settlement& by) {
  const std::optional<Record> record = record_of(stored);
  return core::step_settle(pointer(record), by, now);
}

// Goal: an act is for one state only, and never for a key that runs.
TEST(Settle, IsForTheStateThatItWasDecidedOn) {
  for (int i = 0; i <= static_cast<int>(Stored::expired_released); ++i) {
    const auto stored = static_cast<Stored>(i);
    const bool open = stored == Stored::unknown || stored == Stored::lapsed;
    EXPECT_EQ(settled(stored, settlement(Verdict::done)).has_value(), open) << name(stored);
    EXPECT_EQ(settled(stored, settlement(Verdict::not_done)).has_value(), open) << name(stored);
    EXPECT_EQ(settled(stored, settlement(Verdict::reopened)).has_value(), stored == Stored::done) << name(stored);
  }
}

// Goal: the act becomes the owner, so that the holder of before is fenced, and the number stays.
TEST(Settle, FencesTheHolderOfBefore) {
  const core::HolderStep step = settled(Stored::lapsed, settlement(Verdict::done));
  ASSERT_TRUE(step && *step);
  const Record& record = **step;
  EXPECT_EQ(record.state, Record::State::done);
  EXPECT_EQ(record.response->body, "real");
  EXPECT_EQ(record.fence, (Fence{.number = held_fence.number, .owner = act}));
  EXPECT_FALSE(core::step_complete(&record, held_fence, answer("late"), now));
  EXPECT_FALSE(core::step_release(&record, held_fence, now));
}

// Goal: the same act again changes nothing and succeeds; another one on the same fence is refused.
TEST(Settle, MayBeRepeated) {
  for (const Verdict verdict : {Verdict::done, Verdict::not_done}) {
    const core::HolderStep step = settled(Stored::unknown, settlement(verdict));
    ASSERT_TRUE(step && *step);
    const core::HolderStep again = core::step_settle(&**step, settlement(verdict), now);
    ASSERT_TRUE(again);
    EXPECT_FALSE(*again);
    core::Settlement another = settlement(verdict);
    another.act = act + 1;
    EXPECT_FALSE(core::step_settle(&**step, another, now));
  }
}

// Goal: a key that was not done stays its request's; a finished one that is opened again is free for all.
TEST(Settle, KeepsAnOpenedKeyForItsRequestIfItWasUnknown) {
  const core::HolderStep unknown = settled(Stored::unknown, settlement(Verdict::not_done));
  ASSERT_TRUE(unknown && *unknown);
  EXPECT_TRUE((*unknown)->doubted);
  const core::ClaimStep other = core::step_claim(&**unknown, key_of(1), fingerprint_of(8), terms(), now);
  EXPECT_FALSE(other.store);
  const core::ClaimStep same = core::step_claim(&**unknown, key_of(1), fingerprint_of(9), terms(), now);
  ASSERT_TRUE(same.store);
  EXPECT_EQ(same.store->fence.number, held_fence.number + 1);
  const core::HolderStep done = settled(Stored::done, settlement(Verdict::reopened));
  ASSERT_TRUE(done && *done);
  EXPECT_FALSE((*done)->doubted);
  EXPECT_EQ((*done)->response, nullptr);
}

// Goal: a fence that is right in one half only is refused.
TEST(Settle, NeedsTheWholeFence) {
  for (const Fence fence : {Fence{.number = held_fence.number, .owner = holder + 1},
                            Fence{.number = held_fence.number + 1, .owner = holder}}) {
    const core::HolderStep step = settled(Stored::unknown, settlement(Verdict::done, fence));
    ASSERT_FALSE(step);
    EXPECT_EQ(step.error().code, Code::fenced);
  }
}

}  // namespace
}  // namespace semel::test
