// Of any number of concurrent claimers, on any number of threads, exactly one is Granted (G1).

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <thread>
#include <variant>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include "store/contract.h"

namespace semel::test {
namespace {

struct Heard {
  enum class Word : std::uint8_t { nothing, granted, running, other } word = Word::nothing;
  Fence fence;
  Fingerprint fingerprint;
};

Task<void> compete(Store* store, Key key, Fingerprint fingerprint, Terms terms, Heard* heard) {
  const Result<Claim> claim = co_await store->claim(key, fingerprint, terms);
  if (!claim) {  // no exception: the other threads would wait for this one at the next start line
    ADD_FAILURE() << "the claim failed: " << claim.error().detail;
    co_return;
  }
  if (const auto* granted = std::get_if<Granted>(&*claim)) {
    *heard = {.word = Heard::Word::granted, .fence = granted->fence, .fingerprint = fingerprint};
    co_return;
  }
  const Record& record = std::get<Held>(*claim).record;
  const auto word = record.state == Record::State::running ? Heard::Word::running : Heard::Word::other;
  *heard = {.word = word, .fence = record.fence, .fingerprint = record.fingerprint};
}

// One winner, and every loser was told of that winner.
void expect_one_winner(const std::vector<Heard>& heard, std::uint64_t number) {
  const Heard* winner = nullptr;
  for (const Heard& one : heard) {
    if (one.word != Heard::Word::granted) continue;
    ASSERT_EQ(winner, nullptr) << "two claimers were granted one key";
    winner = &one;
  }
  ASSERT_NE(winner, nullptr) << "nobody was granted a free key";
  EXPECT_EQ(winner->fence.number, number);
  for (const Heard& one : heard) {
    if (&one == winner) continue;
    ASSERT_EQ(one.word, Heard::Word::running);
    ASSERT_EQ(one.fence, winner->fence);
    ASSERT_EQ(one.fingerprint, winner->fingerprint);
  }
}

class Contest {
 public:
  static constexpr std::size_t threads = 4;
  static constexpr std::size_t lanes = 16;
  static constexpr std::size_t claimers = threads * lanes;

  // Every claimer of every thread claims each of `keys`, all of them one key at a time. To take over, all of them must
  // bring the same request; otherwise each brings its own.
  static std::vector<std::vector<Heard>> hold(Crew& crew, Store& store, const std::vector<Key>& keys, Terms terms) {
    std::vector<std::vector<Heard>> heard(keys.size(), std::vector<Heard>(claimers));
    StartLine together(threads);
    crew.run(threads, [&](std::size_t thread, boost::asio::io_context& context) {
      for (std::size_t round = 0; round < keys.size(); ++round) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          const std::size_t claimer = (thread * lanes) + lane;
          Terms mine = terms;
          mine.owner = (round * claimers) + claimer + 1;
          const Fingerprint fingerprint = fingerprint_of(terms.lapsed == Terms::Lapsed::taken_over ? 1 : claimer);
          start(context, compete(&store, keys[round], fingerprint, mine, &heard[round][claimer]));
        }
        together.wait();
        context.restart();
        context.run();
      }
    });
    return heard;
  }
};

// 64 claimers on four threads, a fresh key each time, a thousand times: always exactly one winner.
TEST_P(StoreContract, GrantsAFreshKeyToOneOf64ConcurrentClaimers) {
  std::vector<Key> keys;
  for (int round = 0; round < 1'000; ++round) keys.push_back(fresh_key());
  for (const auto& heard : Contest::hold(crew_, *store_, keys, terms())) expect_one_winner(heard, 1);
}

// A lapsed claim is taken over by exactly one of 64 who see it lapse.
TEST_P(StoreContract, LetsOneOf64TakeALapsedClaimOver) {
  std::vector<Key> keys;
  Terms brief_terms = terms();
  brief_terms.lease = brief();
  for (int round = 0; round < 100; ++round) {
    keys.push_back(fresh_key());
    brief_terms.owner = fresh_owner();
    take(keys.back(), brief_terms);
  }
  outlast(brief());
  for (const auto& heard : Contest::hold(crew_, *store_, keys, terms(Terms::Lapsed::taken_over)))
    expect_one_winner(heard, 2);
}

// A key that expires is granted anew to exactly one of 64.
TEST_P(StoreContract, GrantsAnExpiredKeyToOneOf64) {
  std::vector<Key> keys;
  Terms brief_terms = terms();
  brief_terms.ttl = brief();
  for (int round = 0; round < 100; ++round) {
    keys.push_back(fresh_key());
    brief_terms.owner = fresh_owner();
    ASSERT_EQ(said(complete(keys.back(), take(keys.back(), brief_terms).fence, answer_of("old"))), "ok");
  }
  outlast(brief());
  for (const auto& heard : Contest::hold(crew_, *store_, keys, terms())) expect_one_winner(heard, 1);
}

// 64 callers that share one owner are one caller repeating itself: all get the one fence.
TEST_P(StoreContract, GivesOneFenceToOneOwnerAskingConcurrently) {
  const Key key = fresh_key();
  const Terms mine = terms();
  std::vector<Heard> heard(Contest::claimers);
  crew_.run(Contest::threads, [&](std::size_t thread, boost::asio::io_context& context) {
    for (std::size_t lane = 0; lane < Contest::lanes; ++lane) {
      start(context, compete(store_.get(), key, fingerprint_of(1), mine, &heard[(thread * Contest::lanes) + lane]));
    }
    context.run();
  });
  for (const Heard& one : heard) {
    EXPECT_EQ(one.word, Heard::Word::granted);
    EXPECT_EQ(one.fence, (Fence{.number = 1, .owner = mine.owner}));
  }
}

// Makes the holder's call, which has been started on `context`, and lets its lease be over at about the same time: now
// before the call is made, now while it is on its way to the disk, now when it has long been done.
void act_as_the_lease_ends(boost::asio::io_context& context, VirtualClock& clock, std::mt19937_64& random) {
  if (random() % 4 != 0) context.poll();
  const std::uint64_t span = random() % (std::uint64_t{1} << (random() % 18));  // short ones more often
  for (std::atomic<std::uint64_t> spin = 0; spin < span;) ++spin;
  clock.advance(Millis{1});
  context.run();
}

Task<void> finish(Store* store, Key key, Fence fence, bool* finished) {
  const SharedResponse response = answer_of("holder");
  const Result<void> result = co_await store->complete(key, fence, response);
  if (!result && result.error().code != Code::fenced) throw std::runtime_error(result.error().detail);
  *finished = result.has_value();
}

// While the lease lapses the holder completes and others take over: one of the two happens, never both and never none.
TEST_P(ExactContract, EitherTheHolderCompletesOrSomebodyTakesOver) {
  std::size_t finished_count = 0;
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    const Key key = fresh_key();
    Terms mine = terms();
    mine.lease = Millis{1};
    const Granted granted = take(key, mine);
    const Terms others = terms(Terms::Lapsed::taken_over);
    bool finished = false;
    std::vector<Heard> heard(6);
    StartLine together(2);
    crew_.run(2, [&](std::size_t thread, boost::asio::io_context& context) {
      if (thread == 0) start(context, finish(store_.get(), key, granted.fence, &finished));
      for (std::size_t lane = 0; thread == 1 && lane < heard.size(); ++lane) {
        Terms one = others;
        one.owner = 100'000 + lane;
        start(context, compete(store_.get(), key, fingerprint_of(1), one, &heard[lane]));
      }
      together.wait();
      if (thread == 0) act_as_the_lease_ends(context, virtual_clock_, random);
      context.run();
    });
    std::size_t granted_count = 0;
    for (const Heard& one : heard) granted_count += one.word == Heard::Word::granted ? 1U : 0U;
    if (finished) {
      ++finished_count;
      ASSERT_EQ(granted_count, 0U);
      ASSERT_EQ(kept_body(key), "holder");
    } else {
      ASSERT_LE(granted_count, 1U);  // none, if all of them asked before it lapsed
      ASSERT_EQ(look(key).record.fence.number, granted.fence.number + granted_count);
    }
  }
  RecordProperty("completed_by_holder", static_cast<int>(finished_count));
}

Task<void> prolong(Store* store, Key key, Fence fence, bool* renewed, std::atomic<bool>* over) {
  const Result<void> result = co_await store->renew(key, fence, ample);
  *over = true;
  if (!result && result.error().code != Code::fenced) throw std::runtime_error(result.error().detail);
  *renewed = result.has_value();
}

Task<void> watch(Store* store, Key key, Terms terms, bool* told_unknown, const std::atomic<bool>* over) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  const boost::asio::use_awaitable_t<Executor> token;
  const Fingerprint fingerprint = fingerprint_of(1);
  while (!*over) {
    const Result<Claim> claim = co_await store->claim(key, fingerprint, terms);
    if (!claim) throw std::runtime_error("the claim failed: " + claim.error().detail);
    if (std::get<Held>(*claim).record.state == Record::State::unknown) *told_unknown = true;
    std::this_thread::yield();  // the store may need this core to get on with the renewal
    co_await boost::asio::post(executor, token);
  }
}

// A renewal that came in time counts from then on, even for those who ask while it is still being written.
TEST_P(ExactContract, EitherTheRenewalHoldsOrTheClaimHasLapsed) {
  int renewed_count = 0;
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    const Key key = fresh_key();
    Terms mine = terms();
    mine.lease = Millis{1};
    const Granted granted = take(key, mine);
    const Terms others = terms();
    bool renewed = false;
    bool told_unknown = false;
    std::atomic<bool> over = false;
    StartLine together(2);
    crew_.run(2, [&](std::size_t thread, boost::asio::io_context& context) {
      if (thread == 0) start(context, prolong(store_.get(), key, granted.fence, &renewed, &over));
      if (thread == 1) start(context, watch(store_.get(), key, others, &told_unknown, &over));
      together.wait();
      if (thread == 0) act_as_the_lease_ends(context, virtual_clock_, random);
      context.run();
    });
    renewed_count += renewed ? 1 : 0;
    if (renewed) ASSERT_FALSE(told_unknown);
    ASSERT_EQ(look(key).record.state, renewed ? Record::State::running : Record::State::unknown);
  }
  RecordProperty("renewed_in_time", renewed_count);
}

}  // namespace
}  // namespace semel::test
