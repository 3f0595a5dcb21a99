// The fault-injecting store does to a call what its table says, and the same again for the same seed.

#include "support/faulty_store.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "store/contract.h"
#include "support/run.h"
#include "support/virtual_clock.h"
#include <semel/stores.h>

namespace semel::test {
namespace {

class FaultyStoreTest : public testing::Test {
 protected:
  // Starts a call; what it said ("ok", "unavailable", …) appears when it has ended.
  template <class T>
  std::shared_ptr<std::string_view> start(Async<T> call) {
    auto word = std::make_shared<std::string_view>();
    boost::asio::co_spawn(context_.get_executor(), std::move(call),
                          [word](const std::exception_ptr& error, const Result<T>& result) {
                            if (error) std::rethrow_exception(error);
                            *word = said(result);
                          });
    settle();
    return word;
  }

  void settle() {
    context_.restart();
    context_.poll();
  }
  void pass(Millis time) {
    clock_.advance(time);
    settle();
  }

  static Key key() { return {.id = {1}, .scope = {}, .space = "test"}; }
  Terms terms(std::uint64_t owner) const { return {.lease = ample, .ttl = ample, .owner = owner}; }
  // Straight to the store behind, past every fault.
  std::optional<Record> stored() {
    const Result<Claim> claim = run(context_, store_->claim(key(), {}, terms(++onlooker_)));
    if (std::holds_alternative<Held>(*claim)) return std::get<Held>(*claim).record;
    (void)run(context_, store_->release(key(), std::get<Granted>(*claim).fence));
    return std::nullopt;
  }
  Fence take() { return std::get<Granted>(*run(context_, store_->claim(key(), {}, terms(1)))).fence; }

  boost::asio::io_context context_{1};
  VirtualClock clock_;
  std::unique_ptr<Store> store_ = make_memory_store(clock_).store;
  FaultyStore faulty_{*store_, clock_, {}};
  std::uint64_t onlooker_ = 1'000;  // an owner is granted a key once
};

constexpr Millis delay{70};

// Without a script every call goes through and every answer comes back.
TEST_F(FaultyStoreTest, IsTransparentWithoutAScript) {
  EXPECT_EQ(*start(faulty_.claim(key(), {}, terms(1))), "ok");
  const Fence fence = stored()->fence;
  EXPECT_EQ(*start(faulty_.renew(key(), fence, ample)), "ok");
  EXPECT_EQ(*start(faulty_.complete(key(), fence, answer_of("kept"))), "ok");
  EXPECT_EQ(*start(faulty_.release(key(), fence)), "fenced");
  EXPECT_EQ(*start(faulty_.sweep(10)), "ok");
  EXPECT_EQ(faulty_.count(FaultKind::none), 5U);
  EXPECT_EQ(stored()->state, Record::State::done);
}

struct Row {
  FaultKind kind;
  std::string_view heard_at_once;  // "" if the caller waits
  std::string_view heard_after;    // the delay
  bool applied_at_once;
  bool applied_after;
};

constexpr Row rows[] = {
    {FaultKind::none, "ok", "ok", true, true},
    {FaultKind::slow, "", "ok", true, true},
    {FaultKind::refused, "unavailable", "unavailable", false, false},
    {FaultKind::full, "full", "full", false, false},
    {FaultKind::request_lost, "", "unavailable", false, false},
    {FaultKind::answer_lost, "", "unavailable", true, true},
    {FaultKind::late, "unavailable", "unavailable", false, true},
};

// A claim under each fault: when the caller hears, what it hears, and when the key is taken.
TEST_F(FaultyStoreTest, ClaimsAsTheTableSays) {
  for (const Row& row : rows) {
    store_ = make_memory_store(clock_).store;
    FaultyStore faulty(*store_, clock_, faults_at({{StoreCall::claim, 1, {row.kind, delay}}}));
    const auto word = start(faulty.claim(key(), {}, terms(1)));
    EXPECT_EQ(*word, row.heard_at_once);
    EXPECT_EQ(stored().has_value(), row.applied_at_once);
    pass(delay);
    EXPECT_EQ(*word, row.heard_after);
    EXPECT_EQ(stored().has_value(), row.applied_after);
    EXPECT_EQ(faulty.count(row.kind), 1U);
  }
}

// The calls of a holder under each fault: the same table.
TEST_F(FaultyStoreTest, HoldersActAsTheTableSays) {
  using Act = std::function<Async<void>(Store&, Fence)>;
  using Seen = std::function<bool()>;
  struct Deed {
    StoreCall kind;
    Act call;
    Seen seen;
  };
  const std::vector<Deed> deeds{
      {StoreCall::renew, [](Store& store, Fence fence) { return store.renew(key(), fence, 9 * ample); },
       [&] { return stored()->lease_until > clock_.now() + (2 * ample); }},
      {StoreCall::complete, [](Store& store, Fence fence) { return store.complete(key(), fence, answer_of("kept")); },
       [&] { return stored()->state == Record::State::done; }},
      {StoreCall::release, [](Store& store, Fence fence) { return store.release(key(), fence); },
       [&] { return !stored().has_value(); }},
  };
  for (const Deed& deed : deeds) {
    for (const Row& row : rows) {
      store_ = make_memory_store(clock_).store;
      FaultyStore faulty(*store_, clock_, faults_at({{deed.kind, 1, {row.kind, delay}}}));
      const Fence fence = take();
      const auto word = start(deed.call(faulty, fence));
      EXPECT_EQ(*word, row.heard_at_once);
      if (!row.applied_at_once) EXPECT_FALSE(deed.seen());
      pass(delay);
      EXPECT_EQ(*word, row.heard_after);
      EXPECT_EQ(deed.seen(), row.applied_after);
    }
  }
}

// A sweep under each fault: the same table again.
TEST_F(FaultyStoreTest, SweepsAsTheTableSays) {
  for (const Row& row : rows) {
    store_ = make_memory_store(clock_).store;
    FaultyStore faulty(*store_, clock_, faults_at({{StoreCall::sweep, 1, {row.kind, delay}}}));
    take();
    clock_.advance(ample);
    const auto word = start(faulty.sweep(5));
    EXPECT_EQ(*word, row.heard_at_once);
    pass(delay);
    EXPECT_EQ(*word, row.heard_after);
    EXPECT_EQ(*run(context_, store_->sweep(5)), row.applied_after ? 0U : 1U);
  }
}

// A script counts the calls of each kind for itself and leaves the others alone.
TEST_F(FaultyStoreTest, ScriptNamesTheNthCallOfAKind) {
  FaultyStore faulty(
      *store_, clock_,
      faults_at({{StoreCall::complete, 2, {FaultKind::refused, {}}}, {StoreCall::claim, 1, {FaultKind::full, {}}}}));
  EXPECT_EQ(*start(faulty.claim(key(), {}, terms(1))), "full");
  EXPECT_EQ(*start(faulty.claim(key(), {}, terms(1))), "ok");
  const Fence fence = stored()->fence;
  EXPECT_EQ(*start(faulty.complete(key(), fence, answer_of("kept"))), "ok");
  EXPECT_EQ(*start(faulty.complete(key(), fence, answer_of("kept"))), "unavailable");
  EXPECT_EQ(*start(faulty.complete(key(), fence, answer_of("kept"))), "ok");
  faulty.follow(faults_at({{StoreCall::complete, 1, {FaultKind::refused, {}}}}));
  EXPECT_EQ(*start(faulty.complete(key(), fence, answer_of("kept"))), "unavailable");
}

std::vector<Fault> draw(std::uint64_t seed, FaultWeights weights) {
  const FaultScript script = faults_by_seed(seed, weights);
  std::vector<Fault> drawn;
  for (int i = 0; i < 1'000; ++i) drawn.push_back(script(StoreCall::claim));
  return drawn;
}

// The same seed draws the same faults; another seed draws others; every kind with a weight is drawn, and none without.
TEST(FaultsBySeed, AreTheSameForTheSameSeed) {
  const FaultWeights weights{.of = {4, 1, 1, 0, 1, 1, 1}, .delay_max = Millis{50}};
  const std::vector<Fault> drawn = draw(7, weights);
  EXPECT_EQ(drawn, draw(7, weights));
  EXPECT_NE(drawn, draw(8, weights));
  std::array<int, fault_kinds> counts{};
  for (const Fault& fault : drawn) {
    ++counts.at(static_cast<std::size_t>(fault.kind));
    EXPECT_LE(fault.delay, Millis{50});
  }
  for (std::size_t kind = 0; kind < fault_kinds; ++kind) EXPECT_EQ(counts.at(kind) > 0, weights.of.at(kind) > 0);
  EXPECT_EQ(draw(7, {}), std::vector<Fault>(1'000));
}

}  // namespace
}  // namespace semel::test
