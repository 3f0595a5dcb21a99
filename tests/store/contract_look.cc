// A look at a key: what holds it, without writing.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/contract.h"
#include "store/lookup.h"
#include "support/faulty_store.h"
#include "support/run.h"

namespace semel::test {
namespace {

std::optional<Held> found(boost::asio::io_context& context, store::Lookup* lookup, const Key& key) {
  if (lookup == nullptr) throw std::runtime_error("the store cannot look at keys");
  const Result<std::optional<Held>> answer = run(context, lookup->look_up(key));
  if (!answer) throw std::runtime_error("the look failed: " + answer.error().detail);
  return *answer;
}

// A key that nobody has is not found, and looking at it does not make it somebody's.
TEST_P(StoreContract, ALookAtAFreeKeyFindsNothingAndTakesNothing) {
  const Key key = fresh_key();
  EXPECT_FALSE(found(context_, lookup_, key));
  EXPECT_FALSE(found(context_, lookup_, key));
  EXPECT_EQ(take(key).fence.number, 1U);
}

// A running claim is seen with its fence, its request and what is left of it.
TEST_P(StoreContract, ALookSeesWhoRuns) {
  const Key key = fresh_key();
  const Granted granted = take(key);
  const std::optional<Held> held = found(context_, lookup_, key);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->record.state, Record::State::running);
  EXPECT_EQ(held->record.key.id, key.id);
  EXPECT_EQ(held->record.key.scope, key.scope);
  EXPECT_EQ(held->record.key.space, key.space);
  EXPECT_EQ(held->record.fence, granted.fence);
  EXPECT_EQ(held->record.fingerprint, fingerprint_of(1));
  EXPECT_EQ(held->record.expires_at, granted.expires_at);
  EXPECT_GT(held->lease_left, Millis{0});
  EXPECT_LE(held->lease_left, ample);
  EXPECT_GT(held->left, ample);
  EXPECT_EQ(said(complete(key, granted.fence, answer_of("one"))), "ok") << "the look has not changed the claim";
}

// Many at once are the same as one by one, whatever each of them is, and keep their order.
TEST_P(StoreContract, ALookAtManyIsThatAtEach) {
  ASSERT_NE(lookup_, nullptr);
  const Key done = fresh_key();
  ASSERT_EQ(said(complete(done, take(done).fence, answer_of("one", 202))), "ok");
  const Key lapsed = fresh_key();
  Terms brief_lease = terms();
  brief_lease.lease = brief();
  take(lapsed, brief_lease);
  const Key running = fresh_key();
  take(running);
  const Key released = fresh_key();
  ASSERT_EQ(said(release(released, take(released).fence)), "ok");
  outlast(brief());
  const std::vector<Key> keys{running, fresh_key(), done, lapsed, released, done};
  std::vector<std::optional<Held>> together;
  for (auto from = keys.begin(); from != keys.end();) {
    const auto count =
        std::min<std::ptrdiff_t>(keys.end() - from, static_cast<std::ptrdiff_t>(lookup_->together_max()));
    const auto part = run(context_, lookup_->look_up_together({from, from + count}));
    ASSERT_TRUE(part) << part.error().detail;
    ASSERT_EQ(part->size(), static_cast<std::size_t>(count));
    together.insert(together.end(), part->begin(), part->end());
    from += count;
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::optional<Held> alone = found(context_, lookup_, keys[i]);
    ASSERT_EQ(together[i].has_value(), alone.has_value()) << i;
    if (!alone) continue;
    EXPECT_EQ(together[i]->record.key.id, keys[i].id) << i;
    EXPECT_EQ(together[i]->record.state, alone->record.state) << i;
    EXPECT_EQ(together[i]->record.fence, alone->record.fence) << i;
  }
  EXPECT_FALSE(together[1]);
  ASSERT_TRUE(together[2] && together[3]);
  EXPECT_EQ(*together[2]->record.response, *answer_of("one", 202));
  EXPECT_EQ(together[3]->record.state, Record::State::unknown);
}

// An answer is seen byte for byte, encrypted or not.
TEST_P(StoreContract, ALookSeesTheAnswer) {
  const Key key = fresh_key();
  ASSERT_EQ(said(complete(key, take(key).fence, answer_of("one", 202))), "ok");
  const std::optional<Held> held = found(context_, lookup_, key);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->record.state, Record::State::done);
  ASSERT_NE(held->record.response, nullptr);
  EXPECT_EQ(*held->record.response, *answer_of("one", 202));
}

// An outcome that nobody knows is unknown, whether it was told so or the lease has run out; an expired key is absent.
TEST_P(StoreContract, ALookTellsUnknownAndExpired) {
  const Key told = fresh_key();
  ASSERT_EQ(said(complete(told, take(told).fence, nullptr)), "ok");
  const Key lapsed = fresh_key();
  Terms brief_lease = terms();
  brief_lease.lease = brief();
  take(lapsed, brief_lease);
  const Key gone = fresh_key();
  Terms brief_ttl = terms();
  brief_ttl.ttl = brief();
  ASSERT_EQ(said(complete(gone, take(gone, brief_ttl).fence, answer_of("old"))), "ok");
  outlast(brief());
  for (const Key& key : {told, lapsed}) {
    const std::optional<Held> held = found(context_, lookup_, key);
    ASSERT_TRUE(held);
    EXPECT_EQ(held->record.state, Record::State::unknown);
    EXPECT_EQ(held->lease_left, Millis{0});
  }
  EXPECT_FALSE(found(context_, lookup_, gone));
}

// A released key says so. If an attempt before had ended unknown, that is seen, too.
TEST_P(StoreContract, ALookSeesWhatWasReleased) {
  const Key key = fresh_key();
  ASSERT_EQ(said(release(key, take(key).fence)), "ok");
  std::optional<Held> held = found(context_, lookup_, key);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->record.state, Record::State::released);
  EXPECT_FALSE(held->record.doubted);
  EXPECT_EQ(held->record.fence.number, 1U);

  ASSERT_EQ(said(complete(key, take(key).fence, nullptr)), "ok");
  ASSERT_EQ(said(run(context_, reopening_->reopen(key))), "ok");
  held = found(context_, lookup_, key);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->record.state, Record::State::released);
  EXPECT_TRUE(held->record.doubted);
}

// A look that the store does not answer is an error, not a free key.
TEST_P(StoreContract, ALookThatIsLostIsAnError) {
  const Key key = fresh_key();
  take(key);
  FaultyStore faulty(*store_, *real_clock_,
                     faults_at({{.call = StoreCall::look, .nth = 1, .fault = {.kind = FaultKind::refused}}}), lookup_);
  EXPECT_EQ(said(run(context_, faulty.look_up(key))), "unavailable");
  const Result<std::optional<Held>> second = run(context_, faulty.look_up(key));
  ASSERT_EQ(said(second), "ok");
  EXPECT_TRUE(second->has_value());
}

// What is seen has been written: it is the same when the store is opened again.
TEST_P(ReopenContract, ALookSeesTheSameAfterReopening) {
  const Key done = fresh_key();
  ASSERT_EQ(said(complete(done, take(done).fence, answer_of("one"))), "ok");
  const Key running = fresh_key();
  const Granted granted = take(running);
  reopen();
  const std::optional<Held> kept = found(context_, lookup_, done);
  ASSERT_TRUE(kept);
  ASSERT_NE(kept->record.response, nullptr);
  EXPECT_EQ(kept->record.response->body, "one");
  const std::optional<Held> held = found(context_, lookup_, running);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->record.fence, granted.fence);
}

}  // namespace
}  // namespace semel::test
