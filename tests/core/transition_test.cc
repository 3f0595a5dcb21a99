// The state machine of a key, row by row: what each call does to each thing that can be stored.
//
// Two tables say everything (claims, and the calls of a holder); transition_time_test.cc pins the milliseconds.

#include "core/transition.h"

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "core/transition_cases.h"

namespace semel::test {
namespace {

// ---- claim ----------------------------------------------------------------------------------------------------------

enum class Expect : std::uint8_t {
  first_fence,
  next_fence,
  own_fence,
  held_running,
  held_done,
  held_unknown,
  held_ended
};

struct ClaimRow {
  Stored stored;
  Terms::Lapsed lapsed;
  std::uint64_t owner;
  Expect expect;
};

std::vector<ClaimRow> claim_rows() {
  using enum Expect;
  struct Line {
    Stored stored;
    Expect stands_own, stands_other, taken_own, taken_other;
  };
  // clang-format off
  constexpr Line lines[] = {
      //                             stands                      taken over
      //                             same owner    other owner   same owner    other owner
      {Stored::absent,               first_fence,  first_fence,  first_fence,  first_fence},
      {Stored::running,              own_fence,    held_running, own_fence,    held_running},
      {Stored::running_past_expiry,  own_fence,    held_running, own_fence,    held_running},
      {Stored::lapsed,               held_unknown, held_unknown, next_fence,   next_fence},
      {Stored::done,                 held_done,    held_done,    held_done,    held_done},
      {Stored::unknown,              held_unknown, held_unknown, held_unknown, next_fence},
      {Stored::released,             held_ended,   next_fence,   held_ended,   next_fence},
      {Stored::expired_lapsed,       first_fence,  first_fence,  first_fence,  first_fence},
      {Stored::expired_done,         first_fence,  first_fence,  first_fence,  first_fence},
      {Stored::expired_unknown,      first_fence,  first_fence,  first_fence,  first_fence},
      {Stored::expired_released,     first_fence,  first_fence,  first_fence,  first_fence},
  };
  // clang-format on
  std::vector<ClaimRow> rows;
  for (const Line& line : lines) {
    rows.push_back({line.stored, Terms::Lapsed::stands, holder, line.stands_own});
    rows.push_back({line.stored, Terms::Lapsed::stands, holder + 1, line.stands_other});
    rows.push_back({line.stored, Terms::Lapsed::taken_over, holder, line.taken_own});
    rows.push_back({line.stored, Terms::Lapsed::taken_over, holder + 1, line.taken_other});
  }
  return rows;
}

std::string row_name(const testing::TestParamInfo<ClaimRow>& info) {
  return std::string(name(info.param.stored)) + (info.param.lapsed == Terms::Lapsed::stands ? "Stands" : "TakenOver") +
         (info.param.owner == holder ? "SameOwner" : "OtherOwner");
}

void PrintTo(const ClaimRow& row, std::ostream* out) {
  *out << name(row.stored);
}

class ClaimTable : public testing::TestWithParam<ClaimRow> {};

// Each stored state, policy and owner leads to the one answer of the table, and stores just what was granted.
TEST_P(ClaimTable, AnswersAsTheTableSays) {
  const ClaimRow& row = GetParam();
  const std::optional<Record> stored = record_of(row.stored);
  const Terms asked = terms(row.lapsed, row.owner);

  const core::ClaimStep step = core::step_claim(pointer(stored), key_of(1), fingerprint_of(9), asked, now);

  if (row.expect == Expect::first_fence || row.expect == Expect::next_fence) {
    const Fence fence{.number = row.expect == Expect::first_fence ? 1 : held_fence.number + 1, .owner = row.owner};
    ASSERT_TRUE(std::holds_alternative<Granted>(step.answer));
    EXPECT_EQ(std::get<Granted>(step.answer).fence, fence);
    EXPECT_EQ(std::get<Granted>(step.answer).expires_at, now + asked.ttl);
    const Record fresh{.key = key_of(1),
                       .state = Record::State::running,
                       .fence = fence,
                       .fingerprint = fingerprint_of(9),
                       .claimed_at = now,
                       .lease_until = now + asked.lease,
                       .expires_at = now + asked.ttl,
                       .response = nullptr,
                       .doubted = row.stored == Stored::lapsed || row.stored == Stored::unknown};
    EXPECT_EQ(step.store, fresh);
    return;
  }
  EXPECT_FALSE(step.store.has_value());
  if (row.expect == Expect::own_fence) {
    ASSERT_TRUE(std::holds_alternative<Granted>(step.answer));
    EXPECT_EQ(std::get<Granted>(step.answer).fence, held_fence);
    EXPECT_EQ(std::get<Granted>(step.answer).expires_at, stored->expires_at);
    return;
  }
  ASSERT_TRUE(std::holds_alternative<Held>(step.answer));
  const Held& held = std::get<Held>(step.answer);
  Record reported = *stored;  // as it is stored, but for a lapsed claim, which is told as unknown
  if (row.expect == Expect::held_unknown) reported.state = Record::State::unknown;
  EXPECT_EQ(held.record, reported);
  EXPECT_EQ(held.lease_left, row.expect == Expect::held_running ? stored->lease_until - now : Millis{0});
}

INSTANTIATE_TEST_SUITE_P(Claim, ClaimTable, testing::ValuesIn(claim_rows()), row_name);

// Another request never replaces one whose outcome is open, but it may have a key that was released or has expired.
TEST(ClaimByAnotherRequest, TakesOverNothing) {
  for (const Stored kind : {Stored::lapsed, Stored::unknown}) {
    const Record stored = *record_of(kind);
    const core::ClaimStep step =
        core::step_claim(&stored, stored.key, fingerprint_of(5), terms(Terms::Lapsed::taken_over), now);
    ASSERT_TRUE(std::holds_alternative<Held>(step.answer)) << name(kind);
    EXPECT_EQ(std::get<Held>(step.answer).record.fingerprint, stored.fingerprint);
    EXPECT_FALSE(step.store.has_value());
  }
  for (const Stored kind : {Stored::released, Stored::expired_lapsed, Stored::expired_unknown}) {
    const Record stored = *record_of(kind);
    const core::ClaimStep step =
        core::step_claim(&stored, stored.key, fingerprint_of(5), terms(Terms::Lapsed::taken_over), now);
    EXPECT_TRUE(std::holds_alternative<Granted>(step.answer)) << name(kind);
  }
}

// What was once unknown stays so when an attempt that took it over is released: its first request may have taken
// effect.
TEST(Doubted, IsUnknownAgainWhenItIsReleased) {
  Record stored = *record_of(Stored::running);
  stored.doubted = true;
  const core::HolderStep released = core::step_release(&stored, held_fence, now);
  ASSERT_TRUE(released && released->has_value());
  const Record& again = **released;
  EXPECT_EQ(again.state, Record::State::unknown);
  EXPECT_TRUE(again.doubted);
  const core::HolderStep repeated = core::step_release(&again, held_fence, now);
  ASSERT_TRUE(repeated.has_value());
  EXPECT_FALSE(repeated->has_value());
}

// Even an operator's word frees it for its own request only, and the next attempt is as doubted as the one before.
TEST(Doubted, StaysItsRequestsWhenItIsReopened) {
  for (const Stored kind : {Stored::lapsed, Stored::unknown}) {
    const Record stored = *record_of(kind);
    const std::optional<Record> free = core::step_reopen(&stored, now);
    ASSERT_TRUE(free.has_value()) << name(kind);
    EXPECT_EQ(free->state, Record::State::released);
    const core::ClaimStep other =
        core::step_claim(&*free, stored.key, fingerprint_of(5), terms(Terms::Lapsed::taken_over), now);
    ASSERT_TRUE(std::holds_alternative<Held>(other.answer)) << name(kind);
    EXPECT_EQ(std::get<Held>(other.answer).record.state, Record::State::unknown);
    EXPECT_FALSE(other.store.has_value());
    const core::ClaimStep own =
        core::step_claim(&*free, stored.key, stored.fingerprint, terms(Terms::Lapsed::stands), now);
    ASSERT_TRUE(own.store.has_value()) << name(kind);
    EXPECT_TRUE(own.store->doubted);
  }
  const Record done = *record_of(Stored::done);
  EXPECT_FALSE(core::step_reopen(&done, now)->doubted);
}

// A claim made after a probe takes over the attempt that was probed and no other (a later one was not asked about).
TEST(ClaimAfterProbe, TakesOverOnlyTheAttemptThatWasProbed) {
  for (const Stored kind : {Stored::lapsed, Stored::unknown}) {
    const Record stored = *record_of(kind);
    Terms probed = terms(Terms::Lapsed::taken_over);
    probed.only_over = held_fence;
    const core::ClaimStep same = core::step_claim(&stored, stored.key, stored.fingerprint, probed, now);
    ASSERT_TRUE(std::holds_alternative<Granted>(same.answer)) << name(kind);
    EXPECT_EQ(std::get<Granted>(same.answer).fence.number, held_fence.number + 1);

    for (const Fence other : {Fence{.number = held_fence.number - 1, .owner = holder},
                              Fence{.number = held_fence.number, .owner = holder + 5}}) {
      probed.only_over = other;
      const core::ClaimStep later = core::step_claim(&stored, stored.key, stored.fingerprint, probed, now);
      ASSERT_TRUE(std::holds_alternative<Held>(later.answer)) << name(kind);
      EXPECT_EQ(std::get<Held>(later.answer).record.state, Record::State::unknown);
      EXPECT_FALSE(later.store.has_value());
    }
  }
}

// A key that is free needs nobody's leave: what was probed no longer matters.
TEST(ClaimAfterProbe, TakesAFreeKeyWhateverWasProbed) {
  Terms probed = terms(Terms::Lapsed::taken_over);
  probed.only_over = Fence{.number = 1, .owner = 1};
  for (const Stored kind : {Stored::absent, Stored::released, Stored::expired_unknown}) {
    const std::optional<Record> stored = record_of(kind);
    const core::ClaimStep step = core::step_claim(pointer(stored), key_of(1), fingerprint_of(5), probed, now);
    EXPECT_TRUE(std::holds_alternative<Granted>(step.answer)) << name(kind);
  }
}

// ---- renew, complete, release ---------------------------------------------------------------------------------------

enum class Call : std::uint8_t { renew, complete, complete_unknown, release };
enum class Proof : std::uint8_t { right, lower_number, higher_number, wrong_owner };
enum class Effect : std::uint8_t { changes, repeats, fenced };

struct HolderRow {
  Stored stored;
  Call call;
  Proof proof;
  Effect effect;
};

std::vector<HolderRow> holder_rows() {
  using enum Effect;
  struct Line {
    Stored stored;
    Effect renew, complete, complete_unknown, release;
  };
  // clang-format off
  constexpr Line lines[] = {
      // with the right fence        renew    complete  complete(unknown)  release
      {Stored::absent,               fenced,  fenced,   fenced,            fenced},
      {Stored::running,              changes, changes,  changes,           changes},
      {Stored::running_past_expiry,  changes, changes,  changes,           changes},
      {Stored::lapsed,               fenced,  fenced,   fenced,            fenced},
      {Stored::done,                 fenced,  repeats,  fenced,            fenced},
      {Stored::unknown,              fenced,  fenced,   repeats,           fenced},
      {Stored::released,             fenced,  fenced,   fenced,            repeats},
      {Stored::expired_lapsed,       fenced,  fenced,   fenced,            fenced},
      {Stored::expired_done,         fenced,  fenced,   fenced,            fenced},
      {Stored::expired_unknown,      fenced,  fenced,   fenced,            fenced},
      {Stored::expired_released,     fenced,  fenced,   fenced,            fenced},
  };
  // clang-format on
  std::vector<HolderRow> rows;
  for (const Line& line : lines) {
    for (const Proof proof : {Proof::right, Proof::lower_number, Proof::higher_number, Proof::wrong_owner}) {
      const bool right = proof == Proof::right;  // any other fence is refused, whatever is stored
      rows.push_back({line.stored, Call::renew, proof, right ? line.renew : fenced});
      rows.push_back({line.stored, Call::complete, proof, right ? line.complete : fenced});
      rows.push_back({line.stored, Call::complete_unknown, proof, right ? line.complete_unknown : fenced});
      rows.push_back({line.stored, Call::release, proof, right ? line.release : fenced});
    }
  }
  return rows;
}

std::string holder_row_name(const testing::TestParamInfo<HolderRow>& info) {
  constexpr const char* calls[] = {"Renew", "Complete", "CompleteUnknown", "Release"};
  constexpr const char* proofs[] = {"RightFence", "LowerNumber", "HigherNumber", "WrongOwner"};
  return std::string(calls[static_cast<std::size_t>(info.param.call)]) + name(info.param.stored) +
         proofs[static_cast<std::size_t>(info.param.proof)];
}

void PrintTo(const HolderRow& row, std::ostream* out) {
  *out << name(row.stored);
}

Fence fence_of(Proof proof) {
  switch (proof) {
    case Proof::lower_number:
      return {.number = held_fence.number - 1, .owner = held_fence.owner};
    case Proof::higher_number:
      return {.number = held_fence.number + 1, .owner = held_fence.owner};
    case Proof::wrong_owner:
      return {.number = held_fence.number, .owner = held_fence.owner + 1};
    default:
      return held_fence;
  }
}

core::HolderStep take(Call call, const Record* stored, Fence fence) {
  switch (call) {
    case Call::renew:
      return core::step_renew(stored, fence, Millis{55}, now);
    case Call::complete:
      return core::step_complete(stored, fence, answer("new"), now);
    case Call::complete_unknown:
      return core::step_complete(stored, fence, nullptr, now);
    default:
      return core::step_release(stored, fence, now);
  }
}

class HolderTable : public testing::TestWithParam<HolderRow> {};

// Each call of a holder changes just one thing, repeats harmlessly, or is fenced, as the table says.
TEST_P(HolderTable, ActsAsTheTableSays) {
  const HolderRow& row = GetParam();
  const std::optional<Record> stored = record_of(row.stored);

  const core::HolderStep step = take(row.call, pointer(stored), fence_of(row.proof));

  if (row.effect == Effect::fenced) {
    ASSERT_FALSE(step.has_value());
    EXPECT_EQ(step.error().code, Code::fenced);
    EXPECT_FALSE(step.error().detail.empty());
    return;
  }
  ASSERT_TRUE(step.has_value()) << step.error().detail;
  if (row.effect == Effect::repeats) {
    EXPECT_FALSE(step->has_value());
    return;
  }
  Record expected = *stored;  // expires_at above all stays as the claim fixed it
  if (row.call == Call::renew) expected.lease_until = now + Millis{55};
  if (row.call == Call::release) expected.state = Record::State::released;
  if (row.call == Call::complete_unknown) expected.state = Record::State::unknown;
  if (row.call == Call::complete) {
    expected.state = Record::State::done;
    expected.response = answer("new");
  }
  EXPECT_EQ(*step, expected);
}

INSTANTIATE_TEST_SUITE_P(Holder, HolderTable, testing::ValuesIn(holder_rows()), holder_row_name);

}  // namespace
}  // namespace semel::test
