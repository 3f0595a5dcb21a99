// An event that cannot be read stays as it is, and holds up nothing but the line of its object: all others are
// delivered, and a step that fails in the middle has changed nothing.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "core/event_id.h"
#include "store/call.h"
#include "store/embedded/batch.h"
#include "store/embedded/ledger.h"
#include "store/inbox.h"
#include "store/inbox_book.h"
#include "store/inbox_codec.h"
#include "store/inbox_desk.h"
#include "store/inbox_jobs.h"
#include "store/inbox_table.h"
#include "store/memory_inbox.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::test {
namespace {

using store::AcceptedEvent;
using store::DeliveryState;
using store::Line;

constexpr Millis minute{60'000};

// A ledger in memory, of which some places cannot be read.
class DamagedLedger : public store::embedded::Ledger, public store::InboxReader {
 public:
  std::set<std::string, std::less<>> damaged;
  Code code = Code::corrupt;

  Result<std::optional<Record>> read(const Digest& /*id*/) override {
    if (damaged.contains("records")) return fail(code, "record");
    return std::nullopt;
  }
  Result<void> commit(std::span<const store::embedded::Change> /*changes*/) override { return {}; }
  Result<void> commit_with(std::span<const store::embedded::Change> /*changes*/,
                           const store::OverlayTable::Changes& inbox) override {
    for (const auto& [key, value] : inbox) {
      if (value) table_.put(key, *value);
      if (!value) table_.erase(key);
    }
    return {};
  }
  Result<std::vector<store::embedded::Expiry>> expiries(
      Time /*now*/, std::size_t /*limit*/, const std::optional<store::embedded::Expiry>& /*after*/) override {
    return std::vector<store::embedded::Expiry>{};
  }
  Result<std::optional<std::string>> get(std::string_view key) override {
    if (damaged.contains(key)) return fail(code, "bad block");
    return table_.get(key);
  }
  // The values of damaged places are torn; a damaged prefix ends the walk.
  Result<void> walk(std::string_view begin, std::string_view prefix, store::InboxVisit visit) override {
    if (damaged.contains(prefix)) return fail(code, "bad block");
    const auto see = [&](std::string_view key, std::string_view value) {
      return visit(key, damaged.contains(key) ? std::string_view("torn") : value);
    };
    return table_.walk(begin, prefix, see);
  }

 private:
  store::MemoryTable table_;
};

class InboxUnreadable : public testing::Test {
 protected:
  using Book = store::InboxBook;

  InboxUnreadable() { start(); }

  // A new process.
  void start() {
    book_ = std::make_unique<Book>(++holder_);
    ASSERT_TRUE(book_->open(ledger_, now_).has_value());
  }
  // In a batch of its own, as a committer makes it.
  Result<void> make(const std::function<Result<void>(Book&, store::InboxTable&, store::KeyRecords&)>& step) {
    store::InboxCall call;
    call.step = [&](Book& book, store::InboxTable& table, store::KeyRecords& records, Time) {
      return step(book, table, records);
    };
    store::embedded::InboxPart part{.book = *book_, .reader = ledger_};
    store::embedded::Batch batch(ledger_, nullptr, &part);
    store::StoreCall with_others{.key = {}, .request = &call};
    batch.judge({.call = &with_others}, now_);
    batch.commit();
    return call.answer;
  }
  bool adopt(int rounds = 20) {
    std::size_t left = 1;
    for (int round = 0; round < rounds && left > 0; ++round) {
      static_cast<void>(make([&](Book& book, store::InboxTable& table, store::KeyRecords&) -> Result<void> {
        const Result<std::size_t> adopted = book.adopt(table, {.limit = 10, .rest = {}, .holding = {}}, now_);
        left = adopted.value_or(1);
        return adopted ? Result<void>() : std::unexpected(adopted.error());
      }));
      now_ += Millis{1'000};
    }
    return left == 0;
  }
  AcceptedEvent accept(const std::string& text, const std::string& stamp = "", Line::Kind kind = Line::Kind::fifo,
                       bool room = false) {
    store::AcceptOrder order;
    order.key = make_key("webhook:/h", "", text).value();
    order.ttl = Millis{3'600'000};
    order.owner = 7;
    order.source = "/h";
    if (!stamp.empty()) order.line = {.kind = kind, .object = {1, 2, 3}, .stamp = stamp};
    order.to.push_back({.name = "billing", .room = room, .skipped_by = {}});
    order.parcel = std::make_shared<const store::Parcel>();
    order.depth_max = order.bytes_max = 1'000'000;
    const store::AcceptReply reply = [](const core::EventId&, const Key&, const Fence&) {
      return std::make_shared<const Response>();
    };
    std::optional<AcceptedEvent> accepted;
    const Result<void> made = make([&](Book& book, store::InboxTable& table, store::KeyRecords& records) {
      Result<store::Acceptance> acceptance = book.accept(table, records, order, reply, now_);
      if (!acceptance) return Result<void>(std::unexpected(acceptance.error()));
      accepted = std::get<AcceptedEvent>(*acceptance);
      return Result<void>();
    });
    if (!made) throw std::runtime_error(made.error().detail);
    return *accepted;
  }
  // The ids that are handed out; none if the call fails.
  std::set<core::EventId> take() {
    std::set<core::EventId> ids;
    now_ += Millis{1};
    static_cast<void>(make([&](Book& book, store::InboxTable& table, store::KeyRecords&) -> Result<void> {
      const store::TakeOrder order{.to = "billing", .limit = 10, .replays_max = 10};
      const Result<store::TakenDeliveries> taken = book.take(table, order, now_);
      if (!taken) return std::unexpected(taken.error());
      next_ = taken->next;
      for (const store::TakenDelivery& each : taken->deliveries) ids.insert(each.event.id);
      return {};
    }));
    return ids;
  }
  Result<void> settle(const core::EventId& id, DeliveryState state) {
    store::SettleOrder order;
    order.id = id;
    order.to = "billing";
    order.attempt = 1;
    order.state = state;
    return settle(order);
  }
  Result<void> settle(const store::SettleOrder& order) {
    return make([&](Book& book, store::InboxTable& table, store::KeyRecords& records) {
      return book.settle(table, records, order, now_);
    });
  }
  std::size_t sweep() {
    std::size_t swept = 0;
    static_cast<void>(make([&](Book& book, store::InboxTable& table, store::KeyRecords&) -> Result<void> {
      const Result<std::size_t> some = book.sweep(table, 100, now_);
      if (!some) return std::unexpected(some.error());
      swept = *some;
      return {};
    }));
    return swept;
  }
  std::uint64_t count(DeliveryState state) {
    return book_->status(ledger_).value().front().by_state.at(static_cast<std::size_t>(state));
  }
  DeliveryState state_of(const core::EventId& id) {
    return store::read_event(ledger_, id).value().value().deliveries.front().state;
  }
  void damage(const core::EventId& id) { ledger_.damaged.insert(store::event_key(id)); }

  Time now_{Millis{1'000'000}};
  DamagedLedger ledger_;
  std::uint32_t holder_ = 0;
  std::unique_ptr<Book> book_;
  std::optional<Time> next_;
};

// What was taken before the one that cannot be read is handed out, and so is what stands behind it.
TEST_F(InboxUnreadable, OthersAreTaken) {
  ASSERT_TRUE(adopt());
  const AcceptedEvent first = accept("first");
  const AcceptedEvent torn = accept("torn");
  const AcceptedEvent last = accept("last");
  damage(torn.id);
  EXPECT_EQ(take(), (std::set{first.id, last.id}));
  EXPECT_EQ(count(DeliveryState::running), 2U) << "none runs that was not handed out";
  EXPECT_EQ(count(DeliveryState::waiting), 1U);
  ASSERT_TRUE(next_.has_value()) << "it is looked for again";
  EXPECT_LE(*next_, now_ + minute);
  EXPECT_TRUE(take().empty());
  const std::vector<std::string> told = book_->take_unread();
  ASSERT_EQ(told.size(), 1U) << "once";
  EXPECT_TRUE(told.front().starts_with("event " + torn.id.text())) << told.front();
  ledger_.damaged.clear();
  now_ += minute;
  EXPECT_EQ(take(), std::set{torn.id}) << "it can be read again";
}

// The same with a disk that reports an error, and does not know whether the place is damaged.
TEST_F(InboxUnreadable, AReadErrorOfOneIsNotThatOfOthers) {
  ASSERT_TRUE(adopt());
  ledger_.code = Code::unavailable;
  const AcceptedEvent torn = accept("torn");
  const AcceptedEvent other = accept("other");
  damage(torn.id);
  EXPECT_EQ(take(), std::set{other.id});
  EXPECT_EQ(count(DeliveryState::running), 1U);
}

// A queue that cannot be walked does not keep what another queue has handed over.
TEST_F(InboxUnreadable, AQueueIsNotHeldUpByAnother) {
  ASSERT_TRUE(adopt());
  const AcceptedEvent fresh = accept("fresh");
  ledger_.damaged.insert(store::due_prefix("billing", store::Urgency::retry));
  EXPECT_EQ(take(), std::set{fresh.id});
  EXPECT_EQ(count(DeliveryState::running), 1U);
}

// What a dead process left is put back but for what cannot be read; that is found by the next process.
TEST_F(InboxUnreadable, AProcessStartsWithoutIt) {
  ASSERT_TRUE(adopt());
  const AcceptedEvent torn_first = accept("torn, running since it came", "", Line::Kind::none, true);
  const AcceptedEvent first = accept("running since it came", "", Line::Kind::none, true);
  const AcceptedEvent torn_taken = accept("torn, taken");
  const AcceptedEvent taken = accept("taken");
  ASSERT_EQ(take().size(), 2U);
  damage(torn_first.id);
  damage(torn_taken.id);
  start();
  ASSERT_TRUE(adopt());
  EXPECT_EQ(take(), (std::set{first.id, taken.id}));
  EXPECT_EQ(count(DeliveryState::running), 4U) << "two of them are those that cannot be read";
  now_ += minute;
  accept("moves the mark");
  ledger_.damaged.clear();
  start();
  ASSERT_TRUE(adopt());
  EXPECT_EQ(count(DeliveryState::running), 0U);
  EXPECT_EQ(take().size(), 5U);
}

// A disk that has trouble for a moment is asked again, so that nothing is left running.
TEST_F(InboxUnreadable, AProcessWaitsForADiskThatRecovers) {
  ASSERT_TRUE(adopt());
  const AcceptedEvent taken = accept("taken");
  ASSERT_EQ(take().size(), 1U);
  damage(taken.id);
  ledger_.code = Code::unavailable;
  start();
  EXPECT_FALSE(adopt(2));
  ledger_.damaged.clear();
  ASSERT_TRUE(adopt());
  EXPECT_EQ(count(DeliveryState::running), 0U);
  EXPECT_EQ(count(DeliveryState::waiting), 1U);
}

// An attempt that has ended has ended, whether or not the next of its object can be read. The others of the object
// wait for that one, as their order says.
TEST_F(InboxUnreadable, WhatEndsDoesNotNeedTheNextOfItsObject) {
  ASSERT_TRUE(adopt());
  const AcceptedEvent first = accept("first", "1");
  const AcceptedEvent torn = accept("torn", "2");
  const AcceptedEvent third = accept("third", "3");
  ASSERT_EQ(take(), std::set{first.id});
  damage(torn.id);
  EXPECT_TRUE(settle(first.id, DeliveryState::done).has_value());
  EXPECT_EQ(state_of(first.id), DeliveryState::done);
  EXPECT_TRUE(take().empty());
}

// The record of a key that cannot be read stays as it is; the delivery has ended all the same.
TEST_F(InboxUnreadable, WhatEndsDoesNotNeedTheRecordOfItsKey) {
  ASSERT_TRUE(adopt());
  const AcceptedEvent event = accept("evt_1");
  ASSERT_EQ(take(), std::set{event.id});
  ledger_.damaged.insert("records");
  store::SettleOrder order;
  order.id = event.id;
  order.to = "billing";
  order.attempt = 1;
  order.answer = [](const Record&) { return std::make_shared<const Response>(); };
  EXPECT_TRUE(settle(order).has_value());
  EXPECT_EQ(state_of(event.id), DeliveryState::done);
}

// A step that a disk with trouble has cut in the middle leaves nothing behind, and can be made again.
TEST_F(InboxUnreadable, AStepThatFailsHasChangedNothing) {
  ASSERT_TRUE(adopt());
  ledger_.code = Code::unavailable;
  const AcceptedEvent first = accept("first", "1");
  const AcceptedEvent second = accept("second", "2");
  ASSERT_EQ(take(), std::set{first.id});
  damage(second.id);
  EXPECT_FALSE(settle(first.id, DeliveryState::done).has_value());
  EXPECT_EQ(state_of(first.id), DeliveryState::running);
  EXPECT_EQ(count(DeliveryState::running), 1U);
  EXPECT_EQ(count(DeliveryState::done), 0U);
  ledger_.damaged.clear();
  EXPECT_TRUE(settle(first.id, DeliveryState::done).has_value());
  EXPECT_EQ(take(), std::set{second.id});
}

// What has been kept long enough is dropped, though one of it cannot be read.
TEST_F(InboxUnreadable, OthersAreDropped) {
  ASSERT_TRUE(adopt());
  const AcceptedEvent torn = accept("torn");
  const AcceptedEvent other = accept("other");
  ASSERT_EQ(take().size(), 2U);
  ASSERT_TRUE(settle(torn.id, DeliveryState::done).has_value());
  ASSERT_TRUE(settle(other.id, DeliveryState::done).has_value());
  damage(torn.id);
  now_ += minute;
  sweep();
  EXPECT_EQ(ledger_.get(store::parcel_key(other.id)).value(), std::nullopt);
  EXPECT_NE(ledger_.get(store::parcel_key(torn.id)).value(), std::nullopt);
  ledger_.damaged.clear();
  now_ += minute;
  sweep();
  EXPECT_EQ(ledger_.get(store::parcel_key(torn.id)).value(), std::nullopt);
}

// The auditor goes past it, and heals what is behind.
TEST_F(InboxUnreadable, OthersAreAudited) {
  ASSERT_TRUE(adopt());
  const AcceptedEvent torn = accept("torn");
  const AcceptedEvent lost = accept("lost");
  const store::DeliveryRecord& delivery = lost.deliveries.front();
  const std::string place = store::due_key(delivery.to, delivery.urgency, delivery.due, lost.id);
  ASSERT_TRUE(ledger_.commit_with({}, {{place, std::nullopt}}).has_value());
  damage(torn.id);
  const Result<void> audited =
      make([&](Book& book, store::InboxTable& table, store::KeyRecords&) { return book.audit(table, 100, now_); });
  EXPECT_TRUE(audited.has_value());
  EXPECT_EQ(take(), std::set{lost.id});
}

}  // namespace
}  // namespace semel::test
