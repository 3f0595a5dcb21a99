// Keys in the order in which they expire.

#include <cstddef>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/backends.h"
#include "store/contract.h"
#include "store/key_roll.h"
#include "support/run.h"

namespace semel::test {
namespace {

class RollContract : public StoreContract {
 protected:
  // All pages.
  std::vector<store::RollEntry> roll(Time from, Time to, const std::string& space = "orders") {
    std::vector<store::RollEntry> all;
    std::string cursor;
    do {
      const store::RollSpan span{.from = from, .to = to, .space = space};
      const Result<store::RollPage> page = run(context_, roll_->expiring(span, cursor));
      if (!page) throw std::runtime_error("it cannot be read: " + page.error().detail);
      all.insert(all.end(), page->items.begin(), page->items.end());
      cursor = page->cursor;
    } while (!cursor.empty());
    return all;
  }
};

constexpr Time beginning{};
constexpr Time end_of_time{Millis{4'000'000'000'000}};

// Every key of the namespace is there once, as it stands, at the time at which it expires; those of others are not.
TEST_P(RollContract, HasEveryKeyOnce) {
  std::set<Digest> ids;
  for (int i = 0; i < 12; ++i) {
    const Key key = fresh_key();
    const Granted granted = take(key);
    if (i % 3 == 1) ASSERT_EQ(said(complete(key, granted.fence, answer_of("kept"))), "ok");
    if (i % 3 == 2) ASSERT_EQ(said(complete(key, granted.fence, nullptr)), "ok");
    ids.insert(desk_->named(key).id);
  }
  Key other = fresh_key();
  other.space = "elsewhere";
  take(other);
  std::size_t done = 0;
  std::size_t unknown = 0;
  std::set<Digest> found;
  for (const store::RollEntry& entry : roll(beginning, end_of_time)) {
    EXPECT_TRUE(found.insert(entry.id).second) << "each once";
    done += entry.state == Record::State::done ? 1 : 0;
    unknown += entry.state == Record::State::unknown ? 1 : 0;
    EXPECT_EQ(entry.expires_at - entry.claimed_at, 24 * ample) << "one ttl later";
  }
  EXPECT_EQ(found, ids);
  EXPECT_EQ(done, 4U);
  EXPECT_EQ(unknown, 4U);
  EXPECT_EQ(roll(beginning, end_of_time, "elsewhere").size(), 1U);
}

// The span has its beginning and not its end.
TEST_P(RollContract, GoesByTheSpan) {
  take(fresh_key());
  const std::vector<store::RollEntry> all = roll(beginning, end_of_time);
  ASSERT_EQ(all.size(), 1U);
  const Time at = all.front().expires_at;
  EXPECT_EQ(roll(at, at + Millis{1}).size(), 1U);
  EXPECT_EQ(roll(beginning, at).size(), 0U);
  EXPECT_EQ(roll(at + Millis{1}, end_of_time).size(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Stores, RollContract, testing::ValuesIn(backends_with(Telling::history)),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace semel::test
