// Which rows are moved one after the other, how long a mover waits between two looks, and what it says.
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "outbox/chains.h"
#include "outbox/database.h"
#include "outbox/pace.h"
#include "outbox/trouble.h"
#include <semel/clock.h>

namespace semel::outbox {
namespace {

OutboxRow row(std::uint64_t seq, std::string key, std::string object = {}, std::string destination = "mailer") {
  OutboxRow made;
  made.seq = seq;
  made.key = std::move(key);
  made.object = std::move(object);
  made.destination = std::move(destination);
  return made;
}

// Those of an object are one chain, in their order; one destination has nothing to do with another.
TEST(OutboxChains, JoinWhatHasAnOrder) {
  const std::vector<Chain> chains = chains_of({row(1, "a", "order:1"), row(2, "b"), row(3, "c", "order:2"),
                                               row(4, "d", "order:1"), row(5, "e"), row(6, "f", "order:1", "ledger")});
  const std::vector<Chain> expected{{0, 3}, {1}, {2}, {4}, {5}};
  EXPECT_EQ(chains, expected);
}

// Of two effects under one key the earlier is asked for first, whatever an object is called.
TEST(OutboxChains, JoinWhatHasOneKey) {
  const std::vector<Chain> chains = chains_of({row(1, "k"), row(2, "other"), row(3, "k"), row(4, "x", "k")});
  const std::vector<Chain> expected{{0, 2}, {1}, {3}};
  EXPECT_EQ(chains, expected);
}

// Shortly while there is something to do and a second longer, then twice as long each time, up to the idle wait.
TEST(OutboxLooks, GrowRareWhenThereIsNothing) {
  LookPace pace(Millis{5}, Millis{250});
  Time now{Millis{1'000'000}};
  pace.found(now);
  EXPECT_EQ(pace.after_nothing(now), Millis{5});
  EXPECT_EQ(pace.after_nothing(now + Millis{999}), Millis{5});
  now += Millis{1'000};
  std::vector<Millis> waits;
  for (int i = 0; i < 8; ++i) waits.push_back(pace.after_nothing(now));
  EXPECT_EQ(waits, (std::vector<Millis>{Millis{5}, Millis{10}, Millis{20}, Millis{40}, Millis{80}, Millis{160},
                                        Millis{250}, Millis{250}}));
  pace.found(now);
  EXPECT_EQ(pace.after_nothing(now), Millis{5});
}

// A line when it begins to fail and one when it is well again; another reason is said, but not each of many in a row.
TEST(OutboxTrouble, IsSaidOnceForEachChange) {
  TroubleLog log("shop");
  Time now{Millis{1'000'000}};
  EXPECT_EQ(log.works(now), std::nullopt);
  EXPECT_EQ(log.fails("the server\nis away", now),
            R"(outbox shop: rows cannot be moved, and stay where they are: the server\x0ais away)");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(log.fails("the server\nis away", now += Millis{100}), std::nullopt);
  EXPECT_EQ(log.fails("no outbox", now), std::nullopt);
  EXPECT_EQ(log.fails("no outbox", now += Millis{50'000}),
            "outbox shop: rows cannot be moved, and stay where they are: no outbox");
  EXPECT_EQ(log.works(now += Millis{1'000}), std::nullopt);
  EXPECT_EQ(log.works(now + Millis{5'000}), "outbox shop: rows are moved again, after 61s");
  EXPECT_EQ(log.works(now + Millis{10'000}), std::nullopt);
  EXPECT_NE(log.fails("no outbox", now + Millis{10'000}), std::nullopt);
}

// One that fails by turns has not become well in between.
TEST(OutboxTrouble, IsNotSaidAgainWhenItFailsByTurns) {
  TroubleLog log("shop");
  Time now{Millis{1'000'000}};
  EXPECT_NE(log.fails("full", now), std::nullopt);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(log.works(now += Millis{100}), std::nullopt);
    EXPECT_EQ(log.works(now += Millis{4'900}), std::nullopt);
    EXPECT_EQ(log.fails("full", now += Millis{100}), std::nullopt);
  }
}

}  // namespace
}  // namespace semel::outbox
