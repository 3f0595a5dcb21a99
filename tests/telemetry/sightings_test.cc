// What observe mode remembers: which request came first, which again, and how much is remembered at most.
#include "telemetry/sightings.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <semel/fingerprint.h>
#include <semel/key.h>

namespace semel::telemetry {
namespace {

using Sight = Sightings::Sight;

constexpr std::uint64_t generation = 100'000;  // keys

// Without hashing a text: there are many of them here.
Key key_of(std::uint64_t number) {
  Key key;
  for (std::size_t i = 0; i < sizeof(number); ++i) key.id.at(i) = static_cast<std::uint8_t>(number >> (8 * i));
  return key;
}

constexpr Fingerprint one{{1}};
constexpr Fingerprint two{{2}};

// A key is new once; then it is the same request, or another one under the same key.
TEST(SightingsTest, TellsTheFirstTheSameAndAnother) {
  Sightings sightings;
  EXPECT_EQ(sightings.look(key_of(1), one), Sight::first);
  EXPECT_EQ(sightings.look(key_of(1), one), Sight::same);
  EXPECT_EQ(sightings.look(key_of(1), two), Sight::other);
  EXPECT_EQ(sightings.look(key_of(2), two), Sight::first);
}

// The first request counts: one that was told apart does not take its place.
TEST(SightingsTest, ComparesWithTheFirst) {
  Sightings sightings;
  EXPECT_EQ(sightings.look(key_of(1), one), Sight::first);
  EXPECT_EQ(sightings.look(key_of(1), two), Sight::other);
  EXPECT_EQ(sightings.look(key_of(1), two), Sight::other);
  EXPECT_EQ(sightings.look(key_of(1), one), Sight::same);
}

// The last hundred thousand keys are remembered for sure, and after two hundred thousand others a key is forgotten.
TEST(SightingsTest, RemembersTheKeysOfLate) {
  Sightings sightings;
  for (std::uint64_t number = 0; number < generation; ++number) {
    ASSERT_EQ(sightings.look(key_of(number), one), Sight::first);
  }
  EXPECT_EQ(sightings.look(key_of(0), one), Sight::same);
  for (std::uint64_t number = generation; number < 2 * generation; ++number) {
    ASSERT_EQ(sightings.look(key_of(number), one), Sight::first);
  }
  EXPECT_EQ(sightings.look(key_of(0), one), Sight::same);
  EXPECT_EQ(sightings.look(key_of(generation - 1), two), Sight::other);
  EXPECT_EQ(sightings.look(key_of(2 * generation), one), Sight::first);
  EXPECT_EQ(sightings.look(key_of(0), one), Sight::first);
  EXPECT_EQ(sightings.look(key_of(generation), one), Sight::same);
}

// Of threads that see one key at the same time, one is told that it is the first.
TEST(SightingsTest, HasOneFirstAmongThreads) {
  Sightings sightings;
  std::atomic<int> firsts = 0;
  std::atomic<int> sames = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        for (std::uint64_t number = 0; number < 1'000; ++number) {
          (sightings.look(key_of(number), one) == Sight::first ? firsts : sames).fetch_add(1);
        }
      });
    }
  }
  EXPECT_EQ(firsts, 1'000);
  EXPECT_EQ(sames, 3'000);
}

}  // namespace
}  // namespace semel::telemetry
