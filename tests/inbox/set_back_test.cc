// A wall clock that was set back while the store was closed: the embedded store's time goes on from its last mark, so
// it is ahead of the process's clock. What it tells those who deliver is of the process's clock.

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "core/event_id.h"
#include "store/capable_store.h"
#include "store/embedded/store.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "support/run.h"
#include "support/virtual_clock.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>
#include <semel/stores.h>

namespace semel::test {
namespace {

using store::AcceptedEvent;

constexpr Millis minute{60'000};
constexpr Millis hour{60 * minute};
constexpr Time noon{Millis{1'000'000'000'000}};

class InboxSetBack : public testing::Test {
 protected:
  InboxSetBack() {
    std::string pattern = (std::filesystem::temp_directory_path() / "semel-setback-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder: " + pattern);
    folder_ = pattern;
    open(noon);
  }
  ~InboxSetBack() override {
    opened_.store.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  InboxSetBack(const InboxSetBack&) = delete;
  InboxSetBack& operator=(const InboxSetBack&) = delete;

  // A process that starts at this time.
  void open(Time at) {
    opened_.store.reset();
    clock_ = std::make_unique<VirtualClock>(at);
    EmbeddedOptions options;
    options.path = folder_ / "data";
    Result<store::CapableStore> store = store::embedded::open_with_keys(*clock_, options, {});
    if (!store) throw std::runtime_error(store.error().detail);
    opened_ = *std::move(store);
    opened_.inbox->tell_due([this](const std::string&, Time due) { told_ = due; });
    while (run(context_, opened_.inbox->adopt({.limit = 10, .rest = minute, .holding = {}})).value() > 0) {
    }
  }
  AcceptedEvent accept(const std::string& text) {
    store::AcceptOrder order;
    order.key = make_key("webhook:/h", "", text).value();
    order.ttl = 24 * hour;
    order.owner = 7;
    order.source = "/h";
    order.to.push_back({.name = "billing", .room = false, .skipped_by = {}});
    order.parcel = std::make_shared<const store::Parcel>();
    order.depth_max = order.bytes_max = 1'000'000;
    store::AcceptReply reply = [](const core::EventId&, const Key&, const Fence&) {
      return std::make_shared<const Response>();
    };
    return std::get<AcceptedEvent>(run(context_, opened_.inbox->accept(std::move(order), std::move(reply))).value());
  }
  store::TakenDeliveries take() {
    store::TakeOrder order{.to = "billing", .limit = 10, .replays_max = 10};
    return run(context_, opened_.inbox->take(std::move(order))).value();
  }

  boost::asio::io_context context_{1};
  std::filesystem::path folder_;
  std::unique_ptr<VirtualClock> clock_;
  store::CapableStore opened_;
  std::optional<Time> told_;
};

// What has to wait for room is due now, by the clock of who waits.
TEST_F(InboxSetBack, WhatIsAcceptedIsDueNow) {
  accept("before");
  open(noon - hour);
  const AcceptedEvent event = accept("after");
  EXPECT_EQ(told_, clock_->now());
  EXPECT_EQ(event.deliveries.front().due, clock_->now());
  EXPECT_EQ(event.deliveries.front().since, clock_->now());
}

// What a dead process left is due when its rest is over.
TEST_F(InboxSetBack, WhatIsAdoptedIsDueAfterItsRest) {
  accept("before");
  ASSERT_EQ(take().deliveries.size(), 1U);
  told_.reset();
  open(noon - hour);
  EXPECT_EQ(told_, clock_->now() + minute);
  EXPECT_EQ(take().next, clock_->now() + minute);
  clock_->advance(minute);
  const store::TakenDeliveries taken = take();
  ASSERT_EQ(taken.deliveries.size(), 1U);
  EXPECT_EQ(taken.deliveries.front().event.deliveries.front().since, clock_->now() - minute)
      << "as old as the store knows it to be";
}

// What an operator sends again is due now.
TEST_F(InboxSetBack, WhatIsSentAgainIsDueNow) {
  const AcceptedEvent event = accept("before");
  open(noon - hour);
  told_.reset();
  store::DeliveryChange change;
  change.id = event.id;
  change.to = "billing";
  change.reason = "a test";
  ASSERT_TRUE(run(context_, opened_.inbox_desk->change(std::move(change))).has_value());
  EXPECT_EQ(told_, clock_->now());
}

// How long the oldest waits, and how long a destination is still paused, go on from where they were.
TEST_F(InboxSetBack, AgesAndPausesGoOn) {
  accept("before");
  store::DestinationControl control{.to = "billing", .paused = true, .until = noon + 10 * minute, .reason = "a test"};
  ASSERT_TRUE(run(context_, opened_.inbox_desk->control(std::move(control))).has_value());
  open(noon - hour);
  clock_->advance(minute);
  const std::vector<store::DeliveryTally> tallies = run(context_, opened_.inbox_desk->status()).value();
  EXPECT_EQ(tallies.front().oldest, clock_->now() - minute);
  const std::vector<store::DestinationControl> controls = run(context_, opened_.inbox_desk->controls()).value();
  EXPECT_EQ(controls.front().until, clock_->now() + 9 * minute);
}

}  // namespace
}  // namespace semel::test
