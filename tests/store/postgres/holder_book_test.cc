// What a holder knows of its own: doubts that end, and deliveries that came too late to be its own.

#include "store/postgres/holder_book.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/event_id.h"
#include "support/virtual_clock.h"
#include <semel/clock.h>

namespace semel::test {
namespace {

using store::postgres::HolderBook;

class HolderBookTest : public testing::Test {
 protected:
  VirtualClock clock_;
  HolderBook book_{clock_, Millis{3'000'000}};
};

// An event that is found is not looked for again, and holds up neither the mark nor jobs. Others are looked for on.
TEST_F(HolderBookTest, ForgetsADoubtThatIsResolved) {
  const core::EventId found = book_.next_id();
  const core::EventId other = book_.next_id();
  book_.doubted(found);
  book_.doubted(other);
  EXPECT_EQ(book_.floor(), found);
  book_.resolved(found);
  EXPECT_EQ(book_.doubts(), std::vector{other});
  EXPECT_FALSE(book_.knows(found));
  EXPECT_EQ(book_.floor(), other);
  EXPECT_EQ(book_.beat().mark, other);
}

// After ten minutes a doubt is left to the auditor, which asks for what this holder does not know.
TEST_F(HolderBookTest, LeavesOldDoubtsToTheAuditor) {
  const core::EventId id = book_.next_id();
  book_.doubted(id);
  clock_.advance(Millis{599'999});
  EXPECT_EQ(book_.doubts().size(), 1U);
  EXPECT_TRUE(book_.knows(id));
  clock_.advance(Millis{1});
  EXPECT_TRUE(book_.doubts().empty());
  EXPECT_FALSE(book_.knows(id));
}

// What was doubted under a number that is dead is put back by whoever adopts it.
TEST_F(HolderBookTest, ForgetsItsDoubtsWhenItDies) {
  book_.doubted(book_.next_id());
  book_.died(book_.holder());
  EXPECT_TRUE(book_.doubts().empty());
}

// A process stands still while the answer to its take is on the way, and goes on under another number before it reads
// that answer: the delivery is run by whoever adopted it.
TEST_F(HolderBookTest, BeginsNothingThatItTookAsAnother) {
  const core::EventId id = book_.next_id();
  const std::uint32_t before = book_.holder();
  book_.died(before);
  book_.taken(before, id, "billing");
  EXPECT_FALSE(book_.may_begin(id, "billing"));
  book_.taken(book_.holder(), id, "billing");
  EXPECT_TRUE(book_.may_begin(id, "billing"));
}

}  // namespace
}  // namespace semel::test
