// The rules by which a hammer run is judged, without a network.
#include "cli/hammer/verdict.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/sha256.h"

namespace semel::cli {
namespace {

Seen seen(std::uint16_t status, bool replayed = false, const char* body = "paid") {
  return {.status = status, .replayed = replayed, .body = core::sha256(body)};
}

std::vector<Promise> broken(const Tally& tally, std::optional<Effects> effects = std::nullopt) {
  std::vector<Promise> promises;
  for (const Broken& one : judge(tally, effects)) promises.push_back(one.promise);
  return promises;
}

// A tally of one key in which every request was answered as it should be.
Tally fine(std::size_t calls) {
  Tally tally(1, calls);
  tally.answered(0, Letter::same, seen(201));
  for (std::size_t i = 1; i < calls; ++i) tally.answered(0, Letter::same, seen(201, true));
  return tally;
}

using Promises = std::vector<Promise>;

// Goal: every status has one meaning, with and without the marker.
TEST(Verdict, TellsWhatAnAnswerMeans) {
  EXPECT_EQ(meaning(seen(201)), Meaning::first_run);
  EXPECT_EQ(meaning(seen(303)), Meaning::first_run);
  EXPECT_EQ(meaning(seen(201, true)), Meaning::replay);
  EXPECT_EQ(meaning(seen(404, true)), Meaning::replay);
  EXPECT_EQ(meaning(seen(409)), Meaning::again);
  EXPECT_EQ(meaning(seen(429)), Meaning::again);
  EXPECT_EQ(meaning(seen(422)), Meaning::reused);
  EXPECT_EQ(meaning(seen(400)), Meaning::refused);
  EXPECT_EQ(meaning(seen(500)), Meaning::failed);
  EXPECT_EQ(meaning(seen(503, true)), Meaning::failed);
}

// Goal: a 409 that will never change is final, or a held key would keep the run going for ever.
TEST(Verdict, TakesAConflictThatSaysNeverAsFinal) {
  Seen held = seen(409);
  held.retry_never = true;
  EXPECT_EQ(meaning(held), Meaning::refused);
}

// Goal: one first run and identical replays break nothing.
TEST(Verdict, HoldsWhenOneRanAndTheRestWereReplays) {
  const Tally tally = fine(25);
  EXPECT_TRUE(tally.all_ended());
  EXPECT_EQ(broken(tally, Effects{.before = 7, .after = 8}), Promises{});
  EXPECT_EQ(tally.counts().first_runs, 1U);
  EXPECT_EQ(tally.counts().replays, 24U);
}

// Goal: a key whose first answer went down with its connection is proven by its replays.
TEST(Verdict, HoldsWhenOnlyReplaysWereSeen) {
  Tally tally(1, 2);
  tally.cut();
  tally.answered(0, Letter::same, seen(201, true));
  tally.answered(0, Letter::same, seen(201, true));
  EXPECT_EQ(broken(tally), Promises{});
}

// Goal: a second answer without the marker is a second run, even if its body is the same.
TEST(Verdict, BreaksWhenAKeyRanTwice) {
  Tally tally(3, 2);
  for (const std::size_t key : {0UL, 2UL}) {
    tally.answered(key, Letter::same, seen(201));
    tally.answered(key, Letter::same, seen(201, true));
  }
  tally.answered(1, Letter::same, seen(201));
  tally.answered(1, Letter::same, seen(201));
  const std::vector<Broken> found = judge(tally, std::nullopt);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].promise, Promise::ran_once);
  EXPECT_EQ(found[0].keys, std::vector<std::size_t>{1});
  EXPECT_EQ(found[0].what, "1 key ran more than once (the first of them 2 times)");
}

// Goal: a replay with one other byte, or another status, is not the same answer.
TEST(Verdict, BreaksWhenAnswersOfAKeyDiffer) {
  Tally body(1, 2);
  body.answered(0, Letter::same, seen(201));
  body.answered(0, Letter::same, seen(201, true, "paid "));
  EXPECT_EQ(broken(body), Promises{Promise::same_answer});
  Tally status(1, 2);
  status.answered(0, Letter::same, seen(201));
  status.answered(0, Letter::same, seen(200, true));
  EXPECT_EQ(broken(status), Promises{Promise::same_answer});
}

// Goal: the same request refused as another one is noticed.
TEST(Verdict, BreaksWhenARepeatIsTakenForAnotherRequest) {
  Tally tally(1, 2);
  tally.answered(0, Letter::same, seen(201));
  tally.answered(0, Letter::same, seen(422));
  EXPECT_EQ(broken(tally), Promises{Promise::same_answer});
}

// Goal: bodies of different keys need not agree.
TEST(Verdict, ComparesOnlyAnswersOfOneKey) {
  Tally tally(2, 1);
  tally.answered(0, Letter::same, seen(201, false, "pay_1"));
  tally.answered(1, Letter::same, seen(201, false, "pay_2"));
  EXPECT_EQ(broken(tally), Promises{});
}

// Goal: another body under a key in use must get 422, and nothing else will do.
TEST(Verdict, WantsAnotherBodyRefused) {
  Tally tally(1, 3);
  tally.answered(0, Letter::same, seen(201));
  tally.answered(0, Letter::other, seen(422));
  tally.answered(0, Letter::same, seen(201, true));
  EXPECT_EQ(broken(tally), Promises{});
  Tally replayed(1, 2);
  replayed.answered(0, Letter::same, seen(201));
  replayed.answered(0, Letter::other, seen(201, true));
  EXPECT_EQ(broken(replayed), Promises{Promise::reuse_refused});
  Tally ran(1, 2);
  ran.answered(0, Letter::same, seen(201));
  ran.answered(0, Letter::other, seen(201, false, "other"));
  EXPECT_EQ(broken(ran), Promises{Promise::reuse_refused});
}

// Goal: nobody is accused of taking another body under a key that a 5xx had set free.
TEST(Verdict, AccusesNobodyOfReuseAfterAFailure) {
  Tally tally(1, 3);
  tally.answered(0, Letter::same, seen(500));
  tally.answered(0, Letter::other, seen(201));
  tally.answered(0, Letter::same, seen(201, true));
  EXPECT_EQ(broken(tally), Promises{Promise::no_failure});
}

// Goal: a single 5xx among good answers is enough.
TEST(Verdict, BreaksOnAnyFailure) {
  Tally tally(1, 3);
  tally.answered(0, Letter::same, seen(500));
  tally.answered(0, Letter::same, seen(201));
  tally.answered(0, Letter::same, seen(201, true));
  EXPECT_EQ(broken(tally), Promises{Promise::no_failure});
}

// Goal: a run in which nothing got through proves nothing, although nothing ran twice.
TEST(Verdict, DoesNotHoldWhenNothingGotThrough) {
  Tally tally(1, 2);
  tally.answered(0, Letter::same, seen(404));
  tally.answered(0, Letter::same, seen(404));
  EXPECT_EQ(broken(tally), Promises{Promise::got_through});
}

// Goal: an error that was kept and replayed counts as an answer like any other, if others were successes.
TEST(Verdict, HoldsForAnErrorThatIsReplayed) {
  Tally tally(2, 2);
  tally.answered(0, Letter::same, seen(402));
  tally.answered(0, Letter::same, seen(402, true));
  tally.answered(1, Letter::same, seen(201));
  tally.answered(1, Letter::same, seen(201, true));
  EXPECT_EQ(broken(tally), Promises{});
}

// Goal: behind Semel a wrong path gives errors that are replayed faithfully, which proves nothing either.
TEST(Verdict, DoesNotHoldWhenAllAnswersAreErrors) {
  Tally tally(2, 2);
  for (const std::size_t key : {0UL, 1UL}) {
    tally.answered(key, Letter::same, seen(404));
    tally.answered(key, Letter::same, seen(404, true));
  }
  EXPECT_EQ(broken(tally), Promises{Promise::got_through});
}

// Goal: requests that wait or were lost do not end a key.
TEST(Verdict, BreaksWhenAKeyHasNotEnded) {
  Tally tally(2, 2);
  tally.answered(0, Letter::same, seen(201));
  tally.answered(0, Letter::same, seen(201, true));
  tally.answered(1, Letter::same, seen(201));
  tally.answered(1, Letter::same, seen(409));
  tally.lost();
  EXPECT_FALSE(tally.all_ended());
  const std::vector<Broken> found = judge(tally, std::nullopt);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].promise, Promise::all_ended);
  EXPECT_EQ(found[0].keys, std::vector<std::size_t>{1});
}

// Goal: what the API counts has the last word, in both directions.
TEST(Verdict, ComparesEffectsWithKeys) {
  const Tally tally = fine(5);
  EXPECT_EQ(broken(tally, Effects{.before = 0, .after = 2}), Promises{Promise::effects});
  EXPECT_EQ(broken(tally, Effects{.before = 3, .after = 3}), Promises{Promise::effects});
  EXPECT_EQ(broken(tally, Effects{.before = 3, .after = 1}), Promises{Promise::effects});
  EXPECT_EQ(broken(tally, Effects{.before = 3, .after = 4}), Promises{});
}

// Goal: all that is wrong is named, with no more than a few keys for each.
TEST(Verdict, NamesEveryBrokenPromiseAndAFewKeys) {
  Tally tally(50, 2);
  for (std::size_t key = 0; key < 50; ++key) {
    tally.answered(key, Letter::same, seen(201, false, "one"));
    tally.answered(key, Letter::same, seen(201, false, "two"));
  }
  const std::vector<Broken> found = judge(tally, Effects{.before = 0, .after = 100});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].promise, Promise::ran_once);
  EXPECT_EQ(found[0].keys, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(found[1].promise, Promise::same_answer);
  EXPECT_EQ(found[2].promise, Promise::effects);
  EXPECT_EQ(found[2].what, "the API counts 100 effects for 50 keys");
}

// Goal: what was sent is the sum of what became of it.
TEST(Verdict, CountsEverythingThatWasSent) {
  Tally tally(1, 9);
  tally.cut();
  tally.cut();
  tally.lost();
  tally.answered(0, Letter::same, seen(409));
  tally.answered(0, Letter::same, seen(201));
  tally.answered(0, Letter::same, seen(400));
  EXPECT_EQ(tally.counts().sent(), 6U);
  EXPECT_EQ(tally.counts().answers(), 3U);
  EXPECT_EQ(tally.ended(), 2U);
}

TEST(Grouped, PutsACommaBetweenThousands) {
  // Goal: the figures in the table can be read at a glance.
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1'000), "1,000");
  EXPECT_EQ(grouped(25'000), "25,000");
  EXPECT_EQ(grouped(1'234'567), "1,234,567");
}

}  // namespace
}  // namespace semel::cli
