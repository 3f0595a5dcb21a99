// The auditor: an event that stands in no queue would never be delivered, and must be noticed.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "core/event_id.h"
#include "store/inbox.h"
#include "store/inbox_book.h"
#include "store/inbox_codec.h"
#include "store/inbox_desk.h"
#include "store/inbox_table.h"
#include "store/memory_inbox.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::test {
namespace {

using store::DeliveryState;

constexpr Time now{Millis{1'000'000}};

class NoRecords : public store::KeyRecords {
 public:
  Result<const Record*> find_record(const Digest& /*id*/) override { return nullptr; }
  void put_record(Record /*record*/) override {}
  Result<void> admit_record() override { return {}; }
};

// The rules over a table from which a test can steal.
class InboxAudit : public testing::Test {
 protected:
  InboxAudit() {
    EXPECT_TRUE(book_.open(table_, now).has_value());
    EXPECT_TRUE(book_.adopt(table_, {.limit = 10, .rest = {}, .holding = {}}, now).has_value());
  }

  store::AcceptedEvent accept(const std::string& text, bool room, store::Line line = {}) {
    store::AcceptOrder order;
    order.key = make_key("webhook:/h", "", text).value();
    order.ttl = Millis{3'600'000};
    order.owner = 7;
    order.source = "/h";
    order.line = std::move(line);
    order.to.push_back({.name = "billing", .room = room, .skipped_by = {}});
    order.parcel = std::make_shared<const store::Parcel>();
    order.depth_max = order.bytes_max = 1'000'000;
    const store::AcceptReply reply = [](const core::EventId&, const Key&, const Fence&) {
      return std::make_shared<const Response>();
    };
    Result<store::Acceptance> accepted = book_.accept(table_, records_, order, reply, now);
    return std::get<store::AcceptedEvent>(*accepted);
  }
  std::vector<store::DeliveryTally> status() { return book_.status(table_).value(); }
  std::int64_t unaccounted() {
    EXPECT_TRUE(book_.audit(table_, 100, now).has_value());
    std::int64_t all = 0;
    for (const store::DeliveryTally& tally : status()) all += tally.unaccounted();
    return all;
  }
  std::size_t takes() {
    const store::TakeOrder order{.to = "billing", .limit = 10, .replays_max = 10};
    return book_.take(table_, order, now + Millis{1}).value().deliveries.size();
  }

  store::MemoryTable table_;
  NoRecords records_;
  store::InboxBook book_{1};
};

// What waits and what runs, begun at once or taken later, stands where it should.
TEST_F(InboxAudit, FindsNothingWhereNothingIsWrong) {
  accept("runs", true);
  accept("waits", false);
  ASSERT_EQ(takes(), 1U);
  accept("waits too", false);
  EXPECT_EQ(unaccounted(), 0);
  EXPECT_EQ(unaccounted(), 0) << "a second round";
}

// A waiting delivery whose entry was lost is counted, and put back.
TEST_F(InboxAudit, CountsAndHealsWhatWaitsNowhere) {
  const store::AcceptedEvent event = accept("evt_1", false);
  const store::DeliveryRecord& delivery = event.deliveries.front();
  table_.erase(store::due_key(delivery.to, delivery.urgency, delivery.due, event.id));
  EXPECT_EQ(takes(), 0U);
  EXPECT_EQ(unaccounted(), 1);
  EXPECT_EQ(unaccounted(), 1) << "counted once, because it is mended";
  EXPECT_EQ(takes(), 1U);
}

// The same for one that waits for its turn, and nobody is before it.
TEST_F(InboxAudit, CountsAndHealsWhatNobodyWakes) {
  const store::Line line{.kind = store::Line::Kind::fifo, .object = {1}, .stamp = "2", .reorder = {}, .blocks = false};
  store::Line earlier = line;
  earlier.stamp = "1";
  const store::AcceptedEvent first = accept("first", true, earlier);
  const store::AcceptedEvent second = accept("second", true, line);
  ASSERT_TRUE(second.deliveries.front().in_line);
  EXPECT_EQ(unaccounted(), 0);
  store::SettleOrder done;
  done.id = first.id;
  done.to = "billing";
  done.attempt = 1;
  const std::string due = store::due_key("billing", store::Urgency::fresh, now, second.id);
  ASSERT_TRUE(book_.settle(table_, records_, done, now).has_value());
  ASSERT_TRUE(table_.get(due).value().has_value());
  // As if the end of the first had not woken the second.
  table_.erase(due);
  table_.put(store::event_key(second.id), store::encode_event(second));
  EXPECT_EQ(takes(), 0U);
  EXPECT_EQ(unaccounted(), 1);
  EXPECT_EQ(takes(), 1U);
}

// An attempt that runs and that nobody would find after a crash.
TEST_F(InboxAudit, CountsWhatRunsNowhere) {
  const store::AcceptedEvent event = accept("evt_1", false);
  ASSERT_EQ(takes(), 1U);
  EXPECT_EQ(unaccounted(), 0);
  table_.erase(store::taken_key(event.id, "billing"));
  EXPECT_EQ(unaccounted(), 1);
}

// It goes through all events in small steps, and begins again.
TEST_F(InboxAudit, GoesRoundInSmallSteps) {
  for (int i = 0; i < 5; ++i) accept("evt_" + std::to_string(i), true);
  const store::AcceptedEvent last = accept("last", false);
  const store::DeliveryRecord& delivery = last.deliveries.front();
  table_.erase(store::due_key(delivery.to, delivery.urgency, delivery.due, last.id));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(book_.audit(table_, 2, now).has_value());
  EXPECT_EQ(status().front().strays, 1U);
}

}  // namespace
}  // namespace semel::test
