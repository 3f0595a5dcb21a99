// Events of one object run one at a time, and none that is older than one that has completed.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include "store/contract.h"

namespace semel::test {
namespace {

Terms in_order(Terms terms, const Key& object, std::string stamp, std::uint64_t company = 0) {
  terms.order = std::make_shared<const Order>(Order{.object = object, .stamp = std::move(stamp), .company = company});
  return terms;
}

std::string_view word(const Result<Claim>& claim) {
  if (!claim) return code_name(claim.error().code);
  if (std::holds_alternative<Granted>(*claim)) return "granted";
  if (std::holds_alternative<Superseded>(*claim)) return "superseded";
  return std::holds_alternative<Busy>(*claim) ? "busy" : "held";
}

// An object and its events have one home, so that they are in one place of a store that has several.
Key together(Key key) {
  key.home = 5;
  return key;
}

// While one event of an object runs, another hears which one it is and how long it may take; other objects do not care.
TEST_P(StoreContract, EventsOfOneObjectRunOneAtATime) {
  const Key object = together(fresh_key());
  const Key first = together(fresh_key());
  const Key second = together(fresh_key());
  const Terms mine = in_order(terms(), object, "1");
  const Granted granted = take(first, mine);

  const Result<Claim> behind = claim(second, in_order(terms(), object, "2"));
  ASSERT_EQ(word(behind), "busy");
  const Held& other = std::get<Busy>(*behind).other;
  EXPECT_EQ(other.record.key.id, first.id);
  EXPECT_EQ(other.record.state, Record::State::running);
  EXPECT_EQ(other.record.fence, granted.fence);
  EXPECT_GT(other.lease_left, Millis{0});
  EXPECT_LE(other.lease_left, mine.lease);
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), together(fresh_key()), "0"))), "granted");

  ASSERT_EQ(said(complete(first, granted.fence, answer_of("one"))), "ok");
  EXPECT_EQ(take(second, in_order(terms(), object, "2")).fence.number, 1U);
}

// Strictly older than what has completed is superseded, as often as it asks; equal is not; and nothing of it is kept.
TEST_P(StoreContract, WhatIsOlderThanACompletedEventIsSuperseded) {
  const Key object = together(fresh_key());
  const Key newer = together(fresh_key());
  ASSERT_EQ(said(complete(newer, take(newer, in_order(terms(), object, "5")).fence, answer_of("new"))), "ok");

  const Key older = together(fresh_key());
  for (int again = 0; again < 3; ++again) {
    EXPECT_EQ(word(claim(older, in_order(terms(), object, "4"))), "superseded");
  }
  EXPECT_EQ(take(older).fence.number, 1U) << "a superseded claim leaves nothing behind";
  const Key equal = together(fresh_key());
  ASSERT_EQ(said(complete(equal, take(equal, in_order(terms(), object, "5")).fence, answer_of("as new"))), "ok");
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, "4"))), "superseded");
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, "6"))), "granted");
}

// A newer event that failed, or of which nobody knows, has swallowed no older one.
TEST_P(StoreContract, OnlyACompletedEventMovesTheMark) {
  const Key object = together(fresh_key());
  const Key released = together(fresh_key());
  ASSERT_EQ(said(release(released, take(released, in_order(terms(), object, "9")).fence)), "ok");
  const Key doubtful = together(fresh_key());
  ASSERT_EQ(said(complete(doubtful, take(doubtful, in_order(terms(), object, "8")).fence, nullptr)), "ok");
  const Key older = together(fresh_key());
  ASSERT_EQ(said(complete(older, take(older, in_order(terms(), object, "3")).fence, answer_of("old"))), "ok");

  EXPECT_EQ(word(claim(released, in_order(terms(), object, "9"))), "granted");
}

// A mark that was reached stays, whatever becomes of the events after it.
TEST_P(StoreContract, TheMarkOutlivesEventsThatFail) {
  const Key object = together(fresh_key());
  const Key done = together(fresh_key());
  ASSERT_EQ(said(complete(done, take(done, in_order(terms(), object, "5")).fence, answer_of("five"))), "ok");
  for (const char* stamp : {"6", "7", "6"}) {
    const Key failed = together(fresh_key());
    ASSERT_EQ(said(release(failed, take(failed, in_order(terms(), object, stamp)).fence)), "ok");
  }
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, "4"))), "superseded");
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, "5"))), "granted");
}

// While a newer event runs, an older one has to wait, since the newer might fail; but what is older than the mark is
// superseded at once.
TEST_P(StoreContract, ARunningEventSupersedesNothingYet) {
  const Key object = together(fresh_key());
  const Key done = together(fresh_key());
  ASSERT_EQ(said(complete(done, take(done, in_order(terms(), object, "2")).fence, answer_of("two"))), "ok");
  const Key running = together(fresh_key());
  const Granted granted = take(running, in_order(terms(), object, "9"));
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, "5"))), "busy");
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, "1"))), "superseded");
  ASSERT_EQ(said(release(running, granted.fence)), "ok");
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, "5"))), "granted");
}

// An event's own record comes first: what has completed is replayed, also when it is old by now, and who repeats a
// claim whose answer was lost gets the same fence.
TEST_P(StoreContract, AnEventsOwnRecordComesBeforeItsOrder) {
  const Key object = together(fresh_key());
  const Key old = together(fresh_key());
  ASSERT_EQ(said(complete(old, take(old, in_order(terms(), object, "1")).fence, answer_of("old"))), "ok");
  const Key newer = together(fresh_key());
  const Terms mine = in_order(terms(), object, "2");
  const Granted granted = take(newer, mine);
  EXPECT_EQ(take(newer, mine).fence, granted.fence);
  EXPECT_EQ(word(claim(newer, in_order(terms(), object, "2"))), "held");
  ASSERT_EQ(said(complete(newer, granted.fence, answer_of("new"))), "ok");

  const Result<Claim> again = claim(old, in_order(terms(), object, "1"));
  ASSERT_EQ(word(again), "held");
  EXPECT_EQ(std::get<Held>(*again).record.response->body, "old");
}

// An event whose holder died does not keep its object: its lease lapses, another event runs, and its own completion
// comes too late to move the mark.
TEST_P(StoreContract, ALapsedEventDoesNotKeepItsObject) {
  const Key object = together(fresh_key());
  const Key lost = together(fresh_key());
  Terms brief_terms = in_order(terms(), object, "9");
  brief_terms.lease = brief();
  const Granted granted = take(lost, brief_terms);
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, "3"))), "busy");
  outlast(brief());
  const Key older = together(fresh_key());
  const Granted next = take(older, in_order(terms(), object, "3"));
  EXPECT_EQ(said(complete(lost, granted.fence, answer_of("late"))), "fenced");
  ASSERT_EQ(said(complete(older, next.fence, answer_of("three"))), "ok");
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, "4"))), "granted");
}

// The lost event itself may be taken over in its turn, and is superseded if a newer one has completed meanwhile.
TEST_P(StoreContract, ALapsedEventIsTakenOverInItsTurn) {
  const Key object = together(fresh_key());
  const Key lost = together(fresh_key());
  Terms brief_terms = in_order(terms(), object, "3");
  brief_terms.lease = brief();
  take(lost, brief_terms);
  outlast(brief());
  const Terms again = in_order(terms(Terms::Lapsed::taken_over), object, "3");
  const Granted second = take(lost, again);
  EXPECT_EQ(second.fence.number, 2U);
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, "4"))), "busy");
  ASSERT_EQ(said(complete(lost, second.fence, nullptr)), "ok");
  const Key newer = together(fresh_key());
  ASSERT_EQ(said(complete(newer, take(newer, in_order(terms(), object, "4")).fence, answer_of("four"))), "ok");
  EXPECT_EQ(word(claim(lost, in_order(terms(Terms::Lapsed::taken_over), object, "3"))), "superseded");
}

// A holder that renews keeps its object for as long as it works.
TEST_P(StoreContract, ARenewedEventKeepsItsObject) {
  const Key object = together(fresh_key());
  const Key slow = together(fresh_key());
  Terms brief_terms = in_order(terms(), object, "1");
  brief_terms.lease = brief();
  const Granted granted = take(slow, brief_terms);
  ASSERT_EQ(said(renew(slow, granted.fence, ample)), "ok");
  outlast(brief());
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, "2"))), "busy");
}

// Events that come in one delivery are claimed together; when they are done, the newest of them is the mark. Whoever
// comes with another delivery waits.
TEST_P(StoreContract, EventsOfOneCompanyDoNotWaitForEachOther) {
  const Key object = together(fresh_key());
  const std::vector<Key> keys{together(fresh_key()), together(fresh_key()), together(fresh_key())};
  const Terms leader = in_order(terms(), object, "7");
  std::vector<Granted> granted{take(keys[0], leader)};
  granted.push_back(take(keys[1], in_order(terms(), object, "3", leader.owner)));
  granted.push_back(take(keys[2], in_order(terms(), object, "5", leader.owner)));
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, "8"))), "busy");
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, "8", leader.owner + 1))), "busy");
  for (std::size_t i = keys.size(); i-- > 0;) {
    ASSERT_EQ(said(complete(keys[i], granted[i].fence, answer_of("done"))), "ok");
  }
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, "6"))), "superseded");
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, "7"))), "granted");
}

// Stamps are compared as bytes: no sign, no terminator, and the shorter of two that begin alike is the older.
TEST_P(StoreContract, StampsAreComparedAsBytes) {
  const std::vector<std::string> rising{std::string(1, '\0'),
                                        std::string(2, '\0'),
                                        "a",
                                        "a" + std::string(1, '\0'),
                                        "ab",
                                        "\x7f",
                                        "\x80",
                                        "\xff",
                                        std::string(stamp_bytes_max, '\xff')};
  const Key object = together(fresh_key());
  for (std::size_t i = 0; i < rising.size(); ++i) {
    const Key key = together(fresh_key());
    ASSERT_EQ(said(complete(key, take(key, in_order(terms(), object, rising[i])).fence, answer_of("x"))), "ok") << i;
    if (i == 0) continue;
    EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, rising[i - 1]))), "superseded") << i;
  }
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, ""))), "invalid");
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, std::string(stamp_bytes_max + 1, 'x')))),
            "invalid");
}

// A mark lives as long as the event that made it, and goes when it is swept.
TEST_P(StoreContract, AMarkExpiresWithItsEvent) {
  const Key object = together(fresh_key());
  const Key done = together(fresh_key());
  Terms brief_terms = in_order(terms(), object, "5");
  brief_terms.ttl = brief();
  ASSERT_EQ(said(complete(done, take(done, brief_terms).fence, answer_of("five"))), "ok");
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, "4"))), "superseded");
  outlast(brief());
  EXPECT_EQ(sweep(10), counted(2));
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, "4"))), "granted");
}

// An expired mark counts as absent, swept or not.
TEST_P(StoreContract, AnExpiredMarkSupersedesNothing) {
  const Key object = together(fresh_key());
  for (const char* stamp : {"5", "6"}) {
    const Key done = together(fresh_key());
    Terms brief_terms = in_order(terms(), object, stamp);
    brief_terms.ttl = brief();
    ASSERT_EQ(said(complete(done, take(done, brief_terms).fence, answer_of("x"))), "ok");
  }
  outlast(brief());
  const Key late = together(fresh_key());
  ASSERT_EQ(said(complete(late, take(late, in_order(terms(), object, "2")).fence, answer_of("two"))), "ok");
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, "3"))), "granted");
}

// A handler that works for longer than ttl keeps its object, though the object's record has expired and is swept.
TEST_P(StoreContract, AnObjectStaysInUseBeyondItsExpiry) {
  const Key object = together(fresh_key());
  const Key slow = together(fresh_key());
  Terms brief_terms = in_order(terms(), object, "5");
  brief_terms.ttl = brief();
  const Granted granted = take(slow, brief_terms);
  outlast(brief());
  EXPECT_EQ(sweep(10), 0U);
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, "6"))), "busy");
  ASSERT_EQ(said(complete(slow, granted.fence, answer_of("five"))), "ok");
  EXPECT_EQ(sweep(10), counted(2));
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, "4"))), "granted");
}

// A claim without order of the same key is judged as ever, and moves no mark.
TEST_P(StoreContract, ClaimsWithoutOrderKnowNothingOfObjects) {
  const Key object = together(fresh_key());
  const Key key = together(fresh_key());
  ASSERT_EQ(said(release(key, take(key, in_order(terms(), object, "5")).fence)), "ok");
  const Granted plain = take(key);
  EXPECT_EQ(plain.fence.number, 2U);
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, "4"))), "granted");
}

struct Floor {
  std::atomic<int> running{0};
  std::atomic<int> reached{0};  // the newest that has completed
  std::atomic<int> handled{0};
  std::atomic<int> overtaken{0};
  std::atomic<bool> broken{false};
};

// An event from its first delivery to its end, tried again as a sender would; every third attempt fails.
Task<void> deliver(Store* store, Key key, Terms terms, int number, Floor* floor) {
  const boost::asio::use_awaitable_t<Executor> later;
  const auto executor = co_await boost::asio::this_coro::executor;
  for (int attempt = 1;; ++attempt) {
    co_await boost::asio::post(executor, later);
    terms.owner += 1'000'000;
    const Result<Claim> claim = co_await store->claim(key, fingerprint_of(1), terms);
    if (!claim) throw std::runtime_error("the claim failed: " + claim.error().detail);
    if (std::holds_alternative<Busy>(*claim)) continue;
    if (std::holds_alternative<Superseded>(*claim)) {
      if (number >= floor->reached) floor->broken = true;
      ++floor->overtaken;
      co_return;
    }
    const Fence fence = std::get<Granted>(*claim).fence;
    if (++floor->running != 1 || number < floor->reached) floor->broken = true;
    co_await boost::asio::post(executor, later);
    const bool fails = (number + attempt) % 3 == 0;
    if (!fails) floor->reached = number;
    --floor->running;
    Result<void> ended;
    if (fails) {
      ended = co_await store->release(key, fence);
    } else {
      ended = co_await store->complete(key, fence, answer_of("done"));
    }
    if (!ended) throw std::runtime_error("the end failed: " + ended.error().detail);
    if (fails) continue;
    ++floor->handled;
    co_return;
  }
}

// Many events of a few objects at once, on four threads: never two of one object, never one behind the mark, none lost.
TEST_P(StoreContract, ConcurrentEventsKeepTheirOrder) {
  constexpr std::size_t threads = 4;
  constexpr int events = 12;  // of each object, on each thread
  constexpr std::size_t objects = 4;
  std::vector<Floor> floors(objects);
  std::vector<Key> marks;
  std::vector<Key> keys;
  for (std::size_t i = 0; i < objects; ++i) marks.push_back(together(fresh_key()));
  for (std::size_t i = 0; i < threads * objects * events; ++i) keys.push_back(together(fresh_key()));
  StartLine together(threads);
  crew_.run(threads, [&](std::size_t thread, boost::asio::io_context& context) {
    for (std::size_t i = 0; i < objects * events; ++i) {
      const std::size_t object = i % objects;
      const int number = static_cast<int>((i * 7 + thread * 5) % 50) + 1;
      Terms mine = in_order(terms(), marks[object], std::string(1, static_cast<char>(number)));
      mine.owner = (thread * 1'000) + i + 1;
      const Key& key = keys[(thread * objects * events) + i];
      start(context, deliver(store_.get(), key, mine, number, &floors[object]));
    }
    together.wait();
    context.restart();
    context.run();
  });
  for (const Floor& floor : floors) {
    EXPECT_FALSE(floor.broken);
    EXPECT_EQ(floor.handled + floor.overtaken, static_cast<int>(threads) * events);
    EXPECT_GE(floor.handled, 1);
    EXPECT_GE(floor.reached, 45) << "the newest is never overtaken";
  }
}

// What an object has come to is there when the store is opened again, and so is who runs.
TEST_P(ReopenContract, OrderIsKept) {
  const Key object = together(fresh_key());
  const Key done = together(fresh_key());
  ASSERT_EQ(said(complete(done, take(done, in_order(terms(), object, "5")).fence, answer_of("five"))), "ok");
  reopen();
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, "4"))), "superseded");
  const Key running = together(fresh_key());
  const Granted granted = take(running, in_order(terms(), object, "7"));
  reopen();
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, "8"))), "busy");
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, "4"))), "superseded");
  ASSERT_EQ(said(complete(running, granted.fence, answer_of("seven"))), "ok");
  reopen();
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, "6"))), "superseded");
}

// An event whose process died keeps its object for as long as its lease, and no longer.
TEST_P(ReopenContract, AnObjectIsFreeWhenItsHolderDied) {
  const Key object = together(fresh_key());
  const Key lost = together(fresh_key());
  Terms brief_terms = in_order(terms(), object, "9");
  brief_terms.lease = brief();
  take(lost, brief_terms);
  reopen();
  outlast(brief());
  EXPECT_EQ(word(claim(together(fresh_key()), in_order(terms(), object, "3"))), "granted");
}

}  // namespace
}  // namespace semel::test
