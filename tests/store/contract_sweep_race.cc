// Sweeping races claiming: nobody ever runs without a claim (requirement B12), and no two hold one key.
//
// A few keys expire all the time while many claim and sweep them. Leases never lapse here, so every grant must end
// well: if a sweep took a living record, or a claim were granted beside one, a holder would be fenced or meet another.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <variant>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include "store/contract.h"

namespace semel::test {
namespace {

constexpr std::size_t key_count = 64;

struct Race {
  Store* store = nullptr;
  std::array<Key, key_count> keys;
  std::function<bool(std::uint64_t)> goes_on;  // asked before each claim, with the count of claims so far
  Millis ttl_unit{1};

  std::array<std::atomic<int>, key_count> holders{};
  std::atomic<std::uint64_t> claims = 0;
  std::atomic<std::uint64_t> grants = 0;
  std::atomic<std::uint64_t> replays = 0;
  std::atomic<std::uint64_t> swept = 0;
};

void must(const Result<void>& result) {
  if (!result) throw std::runtime_error("a living claim did not end well: " + result.error().detail);
}

Task<void> hold_and_end(Race* race, std::size_t at, Fence fence, std::uint64_t dice) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  const boost::asio::use_awaitable_t<Executor> token;
  ++race->grants;
  if (race->holders[at].fetch_add(1) != 0) throw std::runtime_error("two hold one key");
  for (std::uint64_t turn = 0; turn < dice % 3; ++turn) co_await boost::asio::post(executor, token);
  const Key key = race->keys[at];
  if (dice % 4 == 0) must(co_await race->store->renew(key, fence, ample));
  race->holders[at].fetch_sub(1);  // before the call that frees the key: the next one may enter during it
  const SharedResponse response = dice % 8 == 1 ? nullptr : answer_of(std::to_string(at));
  if (dice % 8 == 2) {
    must(co_await race->store->release(key, fence));
  } else {
    must(co_await race->store->complete(key, fence, response));
  }
}

Task<void> sweep_some(Race* race, std::size_t limit) {
  const Result<std::size_t> count = co_await race->store->sweep(limit);
  if (!count) throw std::runtime_error("the sweep failed: " + count.error().detail);
  if (*count > limit) throw std::runtime_error("the sweep deleted more than it was asked to");
  race->swept += *count;
}

Task<void> claim_on(Race* race, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Terms terms;
  terms.lease = ample;
  const Executor executor = co_await boost::asio::this_coro::executor;
  const boost::asio::use_awaitable_t<Executor> token;
  while (race->goes_on(race->claims.fetch_add(1))) {
    co_await boost::asio::post(executor, token);  // a store may answer at once: let the other lanes have their turn
    if (random() % 8 == 0) co_await sweep_some(race, 1 + (random() % 4));
    const std::size_t at = random() % (random() % 2 == 0 ? 4 : key_count);  // half of them meet on four keys
    terms.ttl = race->ttl_unit * static_cast<int>(1 + (random() % 6));
    terms.owner = random();
    const Key key = race->keys[at];
    const Fingerprint fingerprint = fingerprint_of(at);
    const Result<Claim> claim = co_await race->store->claim(key, fingerprint, terms);
    if (!claim) throw std::runtime_error("the claim failed: " + claim.error().detail);
    if (const auto* granted = std::get_if<Granted>(&*claim)) {
      const Fence fence = granted->fence;
      co_await hold_and_end(race, at, fence, random());
      continue;
    }
    const Record& record = std::get<Held>(*claim).record;
    if (record.state == Record::State::released) throw std::runtime_error("a released record is never reported");
    if (record.state != Record::State::done) continue;
    if (record.response == nullptr) throw std::runtime_error("done without a response");
    if (record.response->body != std::to_string(at)) throw std::runtime_error("the answer of another key");
    ++race->replays;
  }
}

// 100,000 claims on keys that expire all the time, with sweeps between them: every grant can be completed, and no two
// overlap. Time goes on by a millisecond for every 20 claims. Where it cannot be turned: one second of it.
TEST_P(StoreContract, NobodyRunsWithoutAClaimWhileSweepsRun) {
  Race race;
  race.store = store_.get();
  for (Key& key : race.keys) key = fresh_key();
  std::atomic<bool> failed = false;
  const Time end = real_clock_->now() + Millis{1'000};
  race.ttl_unit = exact() ? Millis{1} : Millis{3};
  race.goes_on = [&](std::uint64_t count) {
    if (!exact()) return !failed && real_clock_->now() < end;
    if (count % 20 == 19) virtual_clock_.advance(Millis{1});
    return !failed && count < 100'000;
  };
  constexpr std::size_t threads = 4;
  constexpr std::size_t lanes = 16;

  crew_.run(threads, [&](std::size_t thread, boost::asio::io_context& context) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      start(context, claim_on(&race, (thread * lanes) + lane));
    }
    try {
      context.run();
    } catch (...) {
      failed = true;  // let the others end
      throw;
    }
  });
  for (const std::atomic<int>& holders : race.holders) EXPECT_EQ(holders, 0);
  EXPECT_GT(race.grants, 500U);
  EXPECT_GT(race.replays, 50U);
  if (counted(1) != 0) EXPECT_GT(race.swept, 100U);
  EXPECT_LE(race.swept, race.grants);
  RecordProperty("grants", std::to_string(race.grants));
  RecordProperty("replays", std::to_string(race.replays));
  RecordProperty("swept", std::to_string(race.swept));
}

}  // namespace
}  // namespace semel::test
