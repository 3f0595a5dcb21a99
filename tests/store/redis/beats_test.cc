// What a number that is found on the server says about what has been lost.

#include "store/redis/beats.h"

#include <optional>

#include <gtest/gtest.h>

namespace semel::store::redis {
namespace {

Time at(int seconds) {
  return Time{Millis{seconds * 1'000}};
}

// Batches go on from each other, and a number that is there loses nothing.
TEST(Beats, FindThemselvesAgain) {
  BeatBook book(2);
  EXPECT_EQ(book.next(0).before, 0U);
  book.acknowledge(0, 1, 5, at(1));
  const BeatBook::Next second = book.next(0);
  EXPECT_EQ(second.number, 2U);
  EXPECT_EQ(second.before, 1U);
  EXPECT_EQ(book.next(1).number, 1U) << "each connection has its own";
  EXPECT_EQ(book.resume(0, 2, at(2)), std::nullopt) << "it was applied, though nobody was told";
  EXPECT_EQ(book.next(0).before, 2U);
}

// A number that is behind counts the calls of the batches above it, and says when the first was acknowledged.
TEST(Beats, CountWhatIsLost) {
  BeatBook book(1);
  for (int i = 1; i <= 4; ++i) {
    const BeatBook::Next next = book.next(0);
    book.acknowledge(0, next.number, static_cast<std::size_t>(i), at(i));
  }
  const std::optional<RedisLoss> loss = book.resume(0, 2, at(9));
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->calls, 3U + 4U);
  EXPECT_EQ(loss->since, at(3));
  EXPECT_FALSE(loss->more);
  EXPECT_EQ(book.resume(0, 2, at(10)), std::nullopt) << "it is told once";
  const BeatBook::Next next = book.next(0);
  EXPECT_EQ(next.number, 5U);
  EXPECT_EQ(next.before, 2U);
}

// A number that a batch has found, and has written over, counts as much as one that a connection finds.
TEST(Beats, RememberWhatABatchHasWrittenOver) {
  BeatBook book(1);
  book.acknowledge(0, book.next(0).number, 3, at(1));
  book.find(0, 0);
  const std::optional<RedisLoss> loss = book.resume(0, book.next(0).number, at(2));
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->calls, 3U);
  EXPECT_EQ(book.next(0).before, 2U);
  EXPECT_EQ(book.resume(0, 3, at(3)), std::nullopt);
}

// Batches in which nothing was written are no loss.
TEST(Beats, MissNoReads) {
  BeatBook book(1);
  book.acknowledge(0, book.next(0).number, 0, at(1));
  EXPECT_EQ(book.resume(0, 0, at(2)), std::nullopt);
}

// What was acknowledged too long ago to be remembered is said to be more than was counted.
TEST(Beats, SayIfThereWasMore) {
  BeatBook book(1);
  book.acknowledge(0, book.next(0).number, 7, at(1));
  book.acknowledge(0, book.next(0).number, 1, at(8'000));
  const std::optional<RedisLoss> loss = book.resume(0, 0, at(8'001));
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->calls, 1U);
  EXPECT_TRUE(loss->more);
}

}  // namespace
}  // namespace semel::store::redis
