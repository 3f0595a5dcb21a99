// What a delivery costs does not grow with what waits: counted in what the rules read, walk over and write, so that no
// clock and no disk is part of the answer.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "core/event_id.h"
#include "store/inbox.h"
#include "store/inbox_book.h"
#include "store/inbox_table.h"
#include "store/memory_inbox.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::test {
namespace {

// A table in which what was erased still lies in the way, as in a log-structured store before it has tidied up.
class CountingTable : public store::InboxTable {
 public:
  Result<std::optional<std::string>> get(std::string_view key) override {
    ++touched;
    return unmarked(below_.get(key));
  }
  Result<void> walk(std::string_view begin, std::string_view prefix, store::InboxVisit visit) override {
    ++touched;
    const auto see = [&](std::string_view key, std::string_view value) {
      ++touched;
      return value == erased_mark || visit(key, value);
    };
    return below_.walk(begin, prefix, see);
  }
  void put(std::string key, std::string value) override {
    ++touched;
    below_.put(std::move(key), std::move(value));
  }
  void erase(std::string key) override {
    ++touched;
    below_.put(std::move(key), std::string(erased_mark));
  }
  [[nodiscard]] std::size_t savepoint() const override { return below_.savepoint(); }
  void go_back(std::size_t savepoint) override { below_.go_back(savepoint); }

  std::uint64_t touched = 0;

 private:
  static constexpr std::string_view erased_mark = "\x7F erased";

  static Result<std::optional<std::string>> unmarked(Result<std::optional<std::string>> found) {
    if (found && *found && **found == erased_mark) return std::nullopt;
    return found;
  }

  store::MemoryTable below_;
};

class AlwaysFree : public store::KeyRecords {
 public:
  Result<const Record*> find_record(const Digest& /*id*/) override { return nullptr; }
  void put_record(Record /*record*/) override {}
  Result<void> admit_record() override { return {}; }
};

constexpr Time start{Millis{1'000'000}};

class InboxCost : public testing::Test {
 protected:
  InboxCost() { reopen(); }

  void reopen() {
    book_ = std::make_unique<store::InboxBook>(++holder_);
    EXPECT_TRUE(book_->open(table_, now_).has_value());
    for (;;) {
      const Result<std::size_t> left = book_->adopt(table_, {.limit = 500, .rest = {}, .holding = {}}, now_);
      ASSERT_TRUE(left.has_value());
      if (*left == 0) break;
    }
    finish();
  }
  void accept(std::size_t number, std::size_t lanes) {
    store::AcceptOrder order;
    order.key = make_key("webhook:/h", "", "evt_" + std::to_string(number)).value();
    order.ttl = Millis{3'600'000'000};
    order.owner = 7;
    order.source = "/h";
    order.to.push_back({.name = "billing", .room = false, .skipped_by = {}});
    order.parcel = std::make_shared<const store::Parcel>();
    order.depth_max = order.bytes_max = UINT64_MAX;
    order.retain_ended = Millis{3'600'000};
    if (lanes > 0) {
      order.line.kind = store::Line::Kind::fifo;
      order.line.object = {static_cast<std::uint8_t>(number % lanes), static_cast<std::uint8_t>(number % lanes / 256)};
      order.line.stamp = std::to_string(1'000'000 + number);
    }
    const store::AcceptReply reply = [](const core::EventId&, const Key&, const Fence&) {
      return std::make_shared<const Response>();
    };
    const Result<store::Acceptance> accepted = book_->accept(table_, records_, order, reply, now_);
    ASSERT_TRUE(accepted && std::holds_alternative<store::AcceptedEvent>(*accepted));
    finish();
  }
  void fill(std::size_t count, std::size_t lanes) {
    for (std::size_t i = 0; i < count; ++i) accept(next_++, lanes);
  }
  void drain(std::size_t count) {
    for (std::size_t done = 0; done < count;) {
      now_ += Millis{1};
      const store::TakeOrder order{.to = "billing", .limit = 10, .replays_max = 10};
      const Result<store::TakenDeliveries> taken = book_->take(table_, order, now_);
      ASSERT_TRUE(taken.has_value());
      ASSERT_FALSE(taken->deliveries.empty());
      for (const store::TakenDelivery& each : taken->deliveries) {
        store::SettleOrder settled;
        settled.id = each.event.id;
        settled.to = "billing";
        settled.attempt = 1;
        settled.retain_ended = Millis{3'600'000};
        ASSERT_TRUE(book_->settle(table_, records_, settled, now_).has_value());
      }
      finish();
      done += taken->deliveries.size();
    }
  }
  // What each of `count` deliveries touches.
  double cost_of_draining(std::size_t count) {
    const std::uint64_t before = table_.touched;
    drain(count);
    return static_cast<double>(table_.touched - before) / static_cast<double>(count);
  }
  double cost_of_accepting(std::size_t count, std::size_t lanes) {
    const std::uint64_t before = table_.touched;
    fill(count, lanes);
    return static_cast<double>(table_.touched - before) / static_cast<double>(count);
  }
  void finish() {
    book_->finish(table_, now_);
    book_->committed();
  }

  CountingTable table_;
  AlwaysFree records_;
  std::unique_ptr<store::InboxBook> book_;
  Time now_ = start;
  std::size_t next_ = 0;
  std::uint32_t holder_ = 0;
};

// Of twenty thousand that wait, each is accepted and drained at what it costs when a thousand wait.
TEST_F(InboxCost, DoesNotGrowWithWhatWaits) {
  for (const std::size_t lanes : {std::size_t{0}, std::size_t{100}}) {
    const double accept_few = cost_of_accepting(1'000, lanes);
    const double drain_few = cost_of_draining(500);
    fill(20'000, lanes);
    EXPECT_LT(cost_of_accepting(200, lanes), 1.2 * accept_few) << lanes;
    drain(500);  // the rest of the first ones
    EXPECT_LT(cost_of_draining(1'000), 1.2 * drain_few) << lanes;
    drain(19'200);
  }
}

// Thousands of events of a single object, one after the other: what has gone before does not lie in the way.
TEST_F(InboxCost, DoesNotGrowWithWhatWasDelivered) {
  fill(3'000, 1);
  const double first = cost_of_draining(200);
  drain(2'400);
  EXPECT_LT(cost_of_draining(200), 1.2 * first);
}

// Opening reads the figures and what was under way, not what waits.
TEST_F(InboxCost, OpeningDoesNotGrowWithWhatWaits) {
  fill(100, 10);
  now_ += Millis{2'000};
  fill(1, 10);
  std::uint64_t before = table_.touched;
  reopen();
  const std::uint64_t few = table_.touched - before;
  fill(10'000, 10);
  now_ += Millis{2'000};
  fill(1, 10);
  before = table_.touched;
  reopen();
  EXPECT_LT(table_.touched - before, 2 * few + 20);
}

}  // namespace
}  // namespace semel::test
