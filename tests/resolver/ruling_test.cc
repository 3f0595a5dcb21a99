// The table of rulings, and how long a source was watched.
#include "resolver/ruling.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "resolver/watch.h"
#include <semel/clock.h>
#include <semel/response.h>

namespace semel::resolver {
namespace {

constexpr RulingTerms terms{.certain_after = Millis{600'000}, .kept_for = Millis{86'400'000}};

Testimony said(SourceSaid what, Millis lag = Millis{0}) {
  Testimony testimony{.said = what, .detail = "it says so", .lag = lag};
  if (what == SourceSaid::found) {
    auto answer = std::make_shared<Response>();
    answer->status = 201;
    testimony.answer = answer;
  }
  return testimony;
}

RulingKind kind(SourceSaid what, Doubt doubt, Millis lag = Millis{0}) {
  return rule(terms, doubt, said(what, lag)).kind;
}

// Every row of the table in ruling.h.
TEST(ResolverRulings, FollowTheTable) {
  const Doubt young{.age = Millis{1'000}, .watched = Millis{0}};
  const Doubt watched{.age = Millis{3'600'000}, .watched = Millis{600'000}};
  const Doubt nearly{.age = Millis{3'600'000}, .watched = Millis{599'999}};
  const Doubt old{.age = Millis{86'400'001}, .watched = Millis{600'000}};
  const Doubt seen{.age = Millis{3'600'000}, .watched = Millis{600'000}, .seen = true};

  for (const Doubt& doubt : {young, watched, old, seen}) {
    EXPECT_EQ(kind(SourceSaid::nothing, doubt), RulingKind::ask_again);
    EXPECT_EQ(kind(SourceSaid::failed, doubt), RulingKind::ask_again);
    EXPECT_EQ(kind(SourceSaid::unclear, doubt), RulingKind::ask_again);
    EXPECT_EQ(kind(SourceSaid::found, doubt), RulingKind::done);
    EXPECT_EQ(kind(SourceSaid::contradictory, doubt), RulingKind::person);
  }
  EXPECT_EQ(kind(SourceSaid::pending, young), RulingKind::ask_again);
  EXPECT_EQ(kind(SourceSaid::pending, watched), RulingKind::person);
  EXPECT_EQ(kind(SourceSaid::absent, young), RulingKind::ask_again);
  EXPECT_EQ(kind(SourceSaid::absent, nearly), RulingKind::ask_again);
  EXPECT_EQ(kind(SourceSaid::absent, watched), RulingKind::not_done);
  EXPECT_EQ(kind(SourceSaid::absent, watched, Millis{1}), RulingKind::ask_again);
  EXPECT_EQ(kind(SourceSaid::absent, old), RulingKind::person);
  EXPECT_EQ(kind(SourceSaid::absent, seen), RulingKind::person);
}

// A ruling says why, and `done` has the answer of the source.
TEST(ResolverRulings, SayWhy) {
  const ResolverRuling done = rule(terms, {}, said(SourceSaid::found));
  ASSERT_NE(done.response, nullptr);
  EXPECT_EQ(done.response->status, 201);
  EXPECT_NE(done.why.find("201"), std::string::npos);
  EXPECT_EQ(rule(terms, {}, said(SourceSaid::contradictory)).why, "it says so");
  EXPECT_NE(rule(terms, {.age = Millis{0}, .watched = Millis{60'000}}, said(SourceSaid::absent)).why.find("10m"),
            std::string::npos);
}

// The source's clock stands while the source cannot be asked, and counts no silence that is longer than a step.
TEST(SourceClock, StandsWhileTheSourceIsSilent) {
  SourceClock clock(Millis{60'000});
  clock.reached(Time{Millis{0}});
  clock.reached(Time{Millis{30'000}});
  EXPECT_EQ(clock.reading(), Millis{30'000});
  clock.lost();
  clock.reached(Time{Millis{90'000}});
  EXPECT_EQ(clock.reading(), Millis{30'000});
  clock.reached(Time{Millis{100'000}});
  EXPECT_EQ(clock.reading(), Millis{40'000});
  clock.reached(Time{Millis{10'000'000}});
  EXPECT_EQ(clock.reading(), Millis{100'000});
}

// Of the time in which the source failed for some keys, one that was not asked about counts a step only; one that was
// asked all the time loses nothing.
TEST(SourceClock, CountsAStepIfTheSourceFailedForOthers) {
  SourceClock clock(Millis{60'000});
  clock.reached(Time{Millis{0}});
  for (int i = 1; i <= 10; ++i) clock.reached(Time{Millis{i * 30'000}});
  EXPECT_EQ(clock.counted_since(Millis{0}), Millis{300'000});
  clock.failed_for_some();
  clock.reached(Time{Millis{330'000}});
  EXPECT_EQ(clock.counted_since(Millis{0}), Millis{60'000});
  EXPECT_EQ(clock.counted_since(Millis{300'000}), Millis{30'000});
  for (int i = 12; i <= 20; ++i) clock.reached(Time{Millis{i * 30'000}});
  EXPECT_EQ(clock.counted_since(Millis{330'000}), Millis{270'000});
}

// A clock that was asked so often that it has this reading.
SourceClock clock_at(Millis reading) {
  SourceClock clock(Millis{86'400'000});
  clock.reached(Time{});
  clock.reached(Time{reading});
  return clock;
}

// Questions come after 30 s, 1 min, 2 min ... up to an hour, and when absence becomes a proof.
TEST(KeyWatch, AsksLessAndLessOften) {
  const Millis first{30'000};
  KeyWatch watch;
  std::vector<Millis> pauses;
  for (int i = 0; i < 10; ++i) {
    watch.hear(said(SourceSaid::contradictory), clock_at(Millis{0}), Millis{0});
    pauses.push_back(watch.pause(terms, said(SourceSaid::contradictory), first));
  }
  EXPECT_EQ(pauses[0], Millis{30'000});
  EXPECT_EQ(pauses[1], Millis{60'000});
  EXPECT_EQ(pauses[6], Millis{1'920'000});
  EXPECT_EQ(pauses[9], Millis{3'600'000});

  KeyWatch absent;
  for (const Millis reading : {Millis{0}, Millis{30'000}, Millis{90'000}, Millis{210'000}, Millis{450'000}}) {
    absent.hear(said(SourceSaid::absent), clock_at(reading), Millis{0});
  }
  EXPECT_EQ(absent.watched(), Millis{450'000});
  EXPECT_EQ(absent.pause(terms, said(SourceSaid::absent), first), Millis{150'000});
}

// An answer that did not come changes neither how long a key was watched nor when it is asked about.
TEST(KeyWatch, LearnsNothingFromSilence) {
  KeyWatch watch;
  watch.hear(said(SourceSaid::absent), clock_at(Millis{0}), Millis{0});
  watch.hear(said(SourceSaid::absent), clock_at(Millis{300'000}), Millis{0});
  const Doubt doubt = watch.hear(said(SourceSaid::nothing), clock_at(Millis{300'000}), Millis{9'000'000});
  EXPECT_EQ(doubt.watched, Millis{300'000});
  EXPECT_EQ(watch.asks(), 2U);
  EXPECT_EQ(watch.pause(terms, said(SourceSaid::nothing), Millis{30'000}), Millis{30'000});
}

// A source that could not say anything about a key has not shown its absence: the watch begins anew.
TEST(KeyWatch, BeginsAnewAfterAnUnclearAnswer) {
  for (const SourceSaid odd : {SourceSaid::unclear, SourceSaid::failed}) {
    KeyWatch watch;
    watch.hear(said(SourceSaid::absent), clock_at(Millis{0}), Millis{0});
    EXPECT_EQ(watch.hear(said(odd), clock_at(Millis{300'000}), Millis{0}).watched, Millis{0});
    EXPECT_EQ(watch.hear(said(SourceSaid::absent), clock_at(Millis{600'000}), Millis{0}).watched, Millis{0});
    EXPECT_EQ(watch.hear(said(SourceSaid::absent), clock_at(Millis{700'000}), Millis{0}).watched, Millis{100'000});
  }
}

}  // namespace
}  // namespace semel::resolver
