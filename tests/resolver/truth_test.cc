// A resolver against a truth table: an upstream that dies at each point of its work, a database that fails and comes
// back, a replica that lags, resolvers that restart and are two. The oracle knows what really happened, now and later.
//
// What the model grants the resolver is what docs/resolver.md asks of an operator: certain_after is longer than the
// time that a request needs of a database that is there, with a margin for outages too short to be noticed.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "resolver/docket.h"
#include "resolver/ruling.h"
#include <semel/clock.h>
#include <semel/response.h>
#include <semel/store.h>

namespace semel::resolver {
namespace {

constexpr int runs = 100'000;
constexpr Millis never{std::int64_t{1} << 50};

// Where the attempt ends, as the truth has it.
enum class Death : std::uint8_t {
  before_sending,       // of the gateway
  before_work,          // of the upstream
  before_commit,        // of the upstream: the transaction is rolled back
  after_commit,         // its answer is lost
  late_commit,          // after everybody has given up on it
  noted_then_answered,  // it writes that it has begun, then the answer
  noted_then_dead,      // it writes that it has begun, and nothing more
};
constexpr std::array deaths{Death::before_sending, Death::before_work, Death::before_commit,
                            Death::after_commit,   Death::late_commit, Death::noted_then_answered,
                            Death::noted_then_dead};

struct Outage {
  Millis from;
  Millis to;
};

struct Story {
  Death death = Death::before_sending;
  Millis every{1'000};
  Millis work_max{0};  // lease and time-out together
  RulingTerms terms;
  std::vector<Outage> outages;
  Millis noted{never};      // when the row without an answer is committed
  Millis committed{never};  // when the answer is
  Millis lag{0};
  bool suspended = false;  // the resolver does nothing for a while
  bool two = false;        // a second gateway has the same resolver
};

bool is_down(const Story& story, Millis at) {
  return std::ranges::any_of(story.outages, [&](const Outage& each) { return each.from <= at && at < each.to; });
}

// When so much time with a database has passed since the start.
Millis after_work(const Story& story, Millis work) {
  Millis at = work;
  for (const Outage& outage : story.outages) {  // in order
    if (outage.from < at) at += outage.to - outage.from;
  }
  return at;
}

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  Millis between(Millis low, Millis high) {
    return Millis{std::uniform_int_distribution<std::int64_t>(low.count(), std::max(low, high).count())(engine_)};
  }
  bool one_in(int n) { return std::uniform_int_distribution<int>(1, n)(engine_) == 1; }

 private:
  std::mt19937_64 engine_;
};

Story story_of(std::uint64_t seed, Dice& dice) {
  Story story;
  story.death = deaths[seed % deaths.size()];
  story.work_max = dice.between(Millis{2'000}, Millis{10'000});
  story.suspended = dice.one_in(5);
  story.two = dice.one_in(4);
  const Millis unnoticed = story.every * 2;
  story.terms = {.certain_after = story.work_max + 2 * unnoticed + dice.between(Millis{1}, Millis{5'000}),
                 .kept_for = Millis{86'400'000}};
  // Long ones, which are noticed, one after the other; and one that is too short to be.
  Millis from = dice.between(Millis{0}, Millis{10'000});
  for (int left = dice.one_in(2) ? 0 : 3; left > 0; --left) {
    const bool brief = left == 2;
    const Millis length = brief ? Millis{900} : dice.between(Millis{3'000}, Millis{60'000});
    story.outages.push_back({.from = from, .to = from + length});
    from += length + dice.between(Millis{500}, Millis{20'000});
  }
  story.lag = dice.one_in(2) ? Millis{0} : dice.between(Millis{1}, Millis{20'000});
  const Millis work = dice.between(Millis{1}, story.work_max);
  switch (story.death) {
    case Death::after_commit:
      story.committed = after_work(story, work / 4);
      break;
    case Death::late_commit:
      story.committed = after_work(story, work);
      break;
    case Death::noted_then_answered:
      story.noted = after_work(story, work / 4);
      story.committed = after_work(story, work);
      break;
    case Death::noted_then_dead:
      story.noted = after_work(story, work);
      break;
    default:
      break;
  }
  return story;
}

SharedResponse the_answer() {
  auto answer = std::make_shared<Response>();
  answer->status = 201;
  return answer;
}

Testimony said_at(const Story& story, Millis at) {
  if (is_down(story, at)) return {.said = SourceSaid::nothing, .detail = "it is down"};
  const Millis seen = at - story.lag;  // what the replica shows
  Testimony said{.said = SourceSaid::absent, .lag = story.lag};
  if (story.noted <= seen) said.said = SourceSaid::pending;
  if (story.committed <= seen) {
    said.said = SourceSaid::found;
    said.answer = the_answer();
  }
  return said;
}

// The resolver of one gateway, as route_resolver.cc drives it, without a store.
struct Actor {
  std::unique_ptr<Docket> docket;
  Millis next{0};  // round
};

struct Settled {
  RulingKind kind = RulingKind::ask_again;
  Millis at{0};
};

class Play {
 public:
  Play(Story story, Dice& dice) : story_(std::move(story)), dice_(dice) {
    held_.record.key.id[0] = 1;
    held_.record.state = Record::State::unknown;
    held_.record.fence = {.number = 1, .owner = 7};
    held_.record.expires_at = Time{Millis{86'400'000}};
    for (int i = 0; i < (story_.two ? 2 : 1); ++i) {
      actors_.push_back({.docket = nullptr, .next = story_.work_max + dice_.between(Millis{0}, story_.every)});
    }
  }

  // What `apply` comes to within so much time; nobody decided: ask_again, or person.
  Settled play(Millis until) {
    const Millis suspended_from = dice_.between(story_.work_max, 2 * story_.terms.certain_after);
    Settled last;
    for (;;) {
      Actor& actor = *std::ranges::min_element(actors_, {}, &Actor::next);
      const Millis now = actor.next;
      if (now > until) return last;
      actor.next += story_.every;
      if (story_.suspended && now <= suspended_from && suspended_from < actor.next) actor.next += Millis{30'000};
      if (dice_.one_in(20)) actor.docket.reset();  // the gateway is restarted
      const std::optional<RulingKind> ruling = round(actor, now);
      if (!ruling) continue;
      last = {.kind = *ruling, .at = now};
      if (*ruling == RulingKind::done || *ruling == RulingKind::not_done) return last;
    }
  }

 private:
  std::optional<RulingKind> round(Actor& actor, Millis at) {
    const Time now{at};
    if (actor.docket == nullptr) actor.docket = std::make_unique<Docket>(story_.terms, story_.every);
    held_.left = held_.record.expires_at - now;
    const Docket::Meeting meeting = actor.docket->meet(held_, now);
    if (meeting.first) {
      meeting.entry->askable = true;
      if (asks_ > 0) actor.docket->take_up(*meeting.entry, watched_, seen_, asks_);
    }
    actor.docket->end_pass();
    const std::vector<DocketEntry*> due = actor.docket->due(now);
    if (due.empty()) return std::nullopt;
    const std::array said{said_at(story_, at)};
    const std::vector<RuledEntry> ruled = actor.docket->hear(due, said, now);
    if (!ruled.front().answered) return std::nullopt;
    const KeyWatch& watch = ruled.front().entry->watch;
    watched_ = watch.watched();  // as the suggestion has it
    seen_ = watch.seen();
    asks_ = watch.asks();
    return ruled.front().ruling.kind;
  }

  Story story_;
  Dice& dice_;
  Held held_;
  std::vector<Actor> actors_;
  Millis watched_{0};
  bool seen_ = false;
  std::uint32_t asks_ = 0;
};

std::string told(std::uint64_t seed, const Story& story, const Settled& settled) {
  return "seed " + std::to_string(seed) + ": death " + std::to_string(static_cast<int>(story.death)) +
         ", committed at " + std::to_string(story.committed.count()) + " ms, ruled " +
         std::string(name_of(settled.kind)) + " at " + std::to_string(settled.at.count()) + " ms, certain after " +
         std::to_string(story.terms.certain_after.count()) + " ms, lag " + std::to_string(story.lag.count());
}

// Under `apply` no key is settled as something that is not true, whatever dies where; and of the keys whose source can
// tell, nearly all are settled within twice certain_after of a source that is there.
TEST(Truth, IsWhatIsApplied) {
  std::size_t tellable = 0;
  std::size_t in_time = 0;
  std::map<RulingKind, std::size_t> ends;
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    Dice dice(seed);
    const Story story = story_of(seed, dice);
    const Settled settled = Play(story, dice).play(Millis{600'000});
    ++ends[settled.kind];
    if (settled.kind == RulingKind::done) {
      ASSERT_LE(story.committed, settled.at) << told(seed, story, settled);
    }
    if (settled.kind == RulingKind::not_done) {
      ASSERT_EQ(story.committed, never) << told(seed, story, settled);
      ASSERT_EQ(story.noted, never) << told(seed, story, settled);
    }
    if (story.death == Death::noted_then_dead) {
      ASSERT_EQ(settled.kind, RulingKind::person) << told(seed, story, settled);
      continue;
    }
    Millis lost{0};
    for (const Outage& outage : story.outages) lost += outage.to - outage.from + 4 * story.every;
    if (story.suspended) lost += Millis{30'000};
    ++tellable;
    const Millis limit = story.work_max + 2 * story.terms.certain_after + story.lag + lost;
    if (settled.kind != RulingKind::person && settled.kind != RulingKind::ask_again && settled.at <= limit) ++in_time;
  }
  EXPECT_GE(in_time * 100, tellable * 99) << in_time << " of " << tellable;
  EXPECT_GT(ends[RulingKind::done], runs / 3);
  EXPECT_GT(ends[RulingKind::not_done], runs / 3);
  RecordProperty("in_time", static_cast<int>(in_time));
  RecordProperty("tellable", static_cast<int>(tellable));
}

}  // namespace
}  // namespace semel::resolver
