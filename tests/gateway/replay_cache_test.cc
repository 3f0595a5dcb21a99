// Answers of hot keys: which are found, for how long, and which go when there is no more room.
#include "gateway/replay_cache.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "support/virtual_clock.h"
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/response.h>
#include <semel/store.h>

namespace semel::gateway {
namespace {

constexpr std::size_t overhead = 512;  // what an entry counts for beside its body
constexpr std::size_t body_bytes = 1'000;
constexpr std::size_t room_for_four = 4 * (overhead + body_bytes);
constexpr Millis day{86'400'000};

Key key_of(const std::string& text) {
  return *make_key("default", "alice", text);
}

Fingerprint fingerprint_of(std::uint8_t number) {
  return Fingerprint{number};
}

SharedResponse answer(std::size_t size, char letter = 'x') {
  Response response;
  response.status = 201;
  response.body = std::string(size, letter);
  return std::make_shared<const Response>(std::move(response));
}

// An answer that holds until then, by our clock. The store's clock is five hours ahead.
Replayed replayed(SharedResponse response, Time holds_until, std::uint64_t fence = 1) {
  return {.response = std::move(response),
          .fence = {.number = fence},
          .expires_at = holds_until + Millis{18'000'000},
          .holds_until = holds_until};
}

class ReplayCacheTest : public testing::Test {
 protected:
  void put(const std::string& text, std::size_t size = body_bytes, Millis ttl = day) {
    cache_.put(key_of(text), fingerprint_of(1), replayed(answer(size), clock_.now() + ttl), clock_.stopwatch());
  }
  bool has(const std::string& text) { return cache_.find(key_of(text)) != nullptr; }

  test::VirtualClock clock_;
  ReplayCache cache_{clock_, room_for_four};
};

// What was put is found, with all that a replay needs; another key is not.
TEST_F(ReplayCacheTest, FindsWhatWasPut) {
  const SharedResponse response = answer(3, 'a');
  const Replayed put = replayed(response, clock_.now() + day, 5);
  cache_.put(key_of("k1"), fingerprint_of(7), put, clock_.stopwatch());
  const ReplayCache::Entry* found = cache_.find(key_of("k1"));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->key, key_of("k1"));
  EXPECT_EQ(found->fingerprint, fingerprint_of(7));
  EXPECT_EQ(found->response, response);
  EXPECT_EQ(found->fence.number, 5U);
  EXPECT_EQ(found->expires_at, put.expires_at);
  EXPECT_EQ(cache_.find(key_of("k2")), nullptr);
}

// The scope is part of the key: one tenant's answer is not found under another's key of the same text.
TEST_F(ReplayCacheTest, KeepsScopesApart) {
  put("k1");
  EXPECT_EQ(cache_.find(*make_key("default", "bob", "k1")), nullptr);
  EXPECT_EQ(cache_.find(*make_key("other", "alice", "k1")), nullptr);
}

// A key is gone the moment that it expires by the store's clock, although the entry is young.
TEST_F(ReplayCacheTest, FindsNothingThatHasExpired) {
  put("k1", body_bytes, Millis{4'000});
  clock_.advance(Millis{3'999});
  EXPECT_TRUE(has("k1"));
  clock_.advance(Millis{1});
  EXPECT_FALSE(has("k1"));
}

// Five seconds, however often it is asked for: what an operator does to a key is seen after that.
TEST_F(ReplayCacheTest, TrustsAnEntryForFiveSeconds) {
  put("k1");
  for (int i = 0; i < 4; ++i) {
    clock_.advance(Millis{1'000});
    EXPECT_TRUE(has("k1")) << i;
  }
  clock_.advance(Millis{999});
  EXPECT_TRUE(has("k1"));
  clock_.advance(Millis{1});
  EXPECT_FALSE(has("k1"));
}

// A later answer of the same key takes the place of the earlier one, and is trusted from now on.
TEST_F(ReplayCacheTest, ReplacesAnEarlierAnswer) {
  put("k1");
  clock_.advance(Millis{3'000});
  const SharedResponse later = answer(5, 'b');
  cache_.put(key_of("k1"), fingerprint_of(2), replayed(later, clock_.now() + day, 2), clock_.stopwatch());
  clock_.advance(Millis{3'000});
  const ReplayCache::Entry* found = cache_.find(key_of("k1"));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->response, later);
  EXPECT_EQ(found->fingerprint, fingerprint_of(2));
  EXPECT_EQ(found->fence.number, 2U);
}

// An answer that the store has no more is not kept, and neither is one of which nobody knows how long it holds.
TEST_F(ReplayCacheTest, KeepsNothingThatIsOver) {
  put("k1", body_bytes, Millis{0});
  EXPECT_FALSE(has("k1"));
  cache_.put(key_of("k2"), fingerprint_of(1), replayed(answer(1), Time{}), clock_.stopwatch());
  EXPECT_FALSE(has("k2"));
}

// What an operator has changed is asked of the store again.
TEST_F(ReplayCacheTest, ForgetsAKey) {
  put("k1");
  put("k2");
  cache_.forget(key_of("k1"));
  cache_.forget(key_of("k3"));
  EXPECT_FALSE(has("k1"));
  EXPECT_TRUE(has("k2"));
}

// Without room the entry goes that was not asked for the longest; looking at one makes it young again.
TEST_F(ReplayCacheTest, DropsTheLeastRecentlyUsed) {
  for (const char* text : {"a", "b", "c", "d"}) put(text);
  EXPECT_TRUE(has("a"));
  put("e");
  EXPECT_FALSE(has("b"));
  for (const char* text : {"a", "c", "d", "e"}) EXPECT_TRUE(has(text)) << text;
}

// One that takes more room pushes out as many as it must, and no more.
TEST_F(ReplayCacheTest, DropsAsManyAsItMust) {
  ReplayCache cache(clock_, 8 * overhead);
  const auto put_in = [&](const std::string& text, std::size_t size) {
    cache.put(key_of(text), fingerprint_of(1), replayed(answer(size), clock_.now() + day), clock_.stopwatch());
  };
  for (int i = 0; i < 8; ++i) put_in("k" + std::to_string(i), 0);
  put_in("large", overhead);
  EXPECT_EQ(cache.find(key_of("k0")), nullptr);
  EXPECT_EQ(cache.find(key_of("k1")), nullptr);
  for (int i = 2; i < 8; ++i) EXPECT_NE(cache.find(key_of("k" + std::to_string(i))), nullptr) << i;
  EXPECT_NE(cache.find(key_of("large")), nullptr);
}

// A quarter of the room is the most that one answer gets. A larger one is not kept, and neither is what it replaces.
TEST_F(ReplayCacheTest, KeepsNoAnswerOfMoreThanAQuarter) {
  put("k1", body_bytes);
  EXPECT_TRUE(has("k1"));
  put("k2", body_bytes + 1);
  EXPECT_FALSE(has("k2"));
  EXPECT_TRUE(has("k1"));
  put("k1", body_bytes + 1);
  EXPECT_FALSE(has("k1"));
}

// Fields take room too: an answer that is all fields is not kept for the price of an empty body.
TEST_F(ReplayCacheTest, CountsFields) {
  Response response;
  for (int i = 0; i < 10; ++i) response.fields.push_back({.name = "X-Field", .value = std::string(100, 'v')});
  cache_.put(key_of("many fields"), fingerprint_of(1),
             replayed(std::make_shared<const Response>(response), clock_.now() + day), clock_.stopwatch());
  EXPECT_FALSE(has("many fields"));
  response.fields.resize(2);
  cache_.put(key_of("few fields"), fingerprint_of(1),
             replayed(std::make_shared<const Response>(response), clock_.now() + day), clock_.stopwatch());
  EXPECT_TRUE(has("few fields"));
}

// Whatever comes in whatever order: what is found never takes more room than there is.
TEST_F(ReplayCacheTest, StaysWithinItsRoom) {
  constexpr int keys = 200;
  for (int i = 0; i < 2'000; ++i) {
    put("k" + std::to_string(i * 7 % keys), static_cast<std::size_t>(i) * 37 % (body_bytes + 200));
    clock_.advance(Millis{1});
  }
  std::size_t bytes = 0;
  std::size_t found = 0;
  for (int i = 0; i < keys; ++i) {
    if (const ReplayCache::Entry* entry = cache_.find(key_of("k" + std::to_string(i)))) {
      bytes += overhead + entry->response->body.size();
      ++found;
    }
  }
  EXPECT_GE(found, 4U);
  EXPECT_LE(bytes, room_for_four);
}

// No room at all: nothing is kept and nothing goes wrong.
TEST_F(ReplayCacheTest, KeepsNothingWithoutRoom) {
  ReplayCache cache(clock_, 0);
  cache.put(key_of("k1"), fingerprint_of(1), replayed(answer(0), clock_.now() + day), clock_.stopwatch());
  EXPECT_EQ(cache.find(key_of("k1")), nullptr);
}

// What was read from the store before an operator's act does not come back after it, whichever key it was.
TEST_F(ReplayCacheTest, TakesNothingThatWasAskedForBeforeAKeyWasForgotten) {
  const std::chrono::nanoseconds asked = clock_.stopwatch();
  clock_.advance(Millis{1});
  cache_.forget(key_of("k1"));
  clock_.advance(Millis{1});
  cache_.put(key_of("k1"), fingerprint_of(1), replayed(answer(1), clock_.now() + day), asked);
  EXPECT_FALSE(has("k1"));
  cache_.put(key_of("k1"), fingerprint_of(1), replayed(answer(1), clock_.now() + day), clock_.stopwatch());
  EXPECT_TRUE(has("k1"));
}

// If nobody can say which key has changed, none is remembered, and there is room for as many as before.
TEST_F(ReplayCacheTest, ForgetsEverythingIfNobodyCanSayWhich) {
  for (const char* text : {"k1", "k2", "k3", "k4"}) put(text);
  cache_.forget_all();
  clock_.advance(Millis{1});
  for (const char* text : {"k1", "k2", "k3", "k4"}) EXPECT_FALSE(has(text)) << text;
  for (const char* text : {"k5", "k6", "k7", "k8"}) put(text);
  for (const char* text : {"k5", "k6", "k7", "k8"}) EXPECT_TRUE(has(text)) << text;
}

}  // namespace
}  // namespace semel::gateway
