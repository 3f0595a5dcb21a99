// What the dispatcher does with an inbox that answers late, twice, or not any more.
#include "gateway/dispatcher.h"

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <gtest/gtest.h>

#include "config/config.h"
#include "core/event_id.h"
#include "gateway/destination_gate.h"
#include "gateway/effect.h"
#include "gateway/loopback_handler.h"
#include "gateway/world.h"
#include "inbox/destination.h"
#include "reading/address.h"
#include "store/capable_store.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "store/memory.h"
#include "support/run.h"
#include "telemetry/inbox_metrics.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::gateway {
namespace {

using store::DeliveryState;

// An inbox in memory that behaves as one on a server may.
class UnsteadyInbox : public store::Inbox {
 public:
  explicit UnsteadyInbox(store::Inbox& inner) : inner_(inner) {}

  bool taken_for_dead = false;       // may_begin() says so once; from then on it is a new one
  bool loses_the_next_take = false;  // it takes, and its answer is lost: the next call is answered with the same
  std::vector<std::size_t> limits;   // of all takes

  void tell_due(const store::DueListener& listener) override { inner_.tell_due(listener); }
  Async<store::Acceptance> accept(store::AcceptOrder order, store::AcceptReply reply) override {
    return inner_.accept(std::move(order), std::move(reply));
  }
  Async<store::TakenDeliveries> take(store::TakeOrder order) override {
    limits.push_back(order.limit);
    if (std::optional<store::TakenDeliveries> again = std::exchange(lost_, std::nullopt)) co_return *std::move(again);
    Result<store::TakenDeliveries> taken = co_await inner_.take(std::move(order));
    if (!std::exchange(loses_the_next_take, false) || !taken) co_return taken;
    lost_ = *std::move(taken);
    co_return fail(Code::unavailable, "the connection was lost");
  }
  Async<void> settle(store::SettleOrder order) override { return inner_.settle(std::move(order)); }
  Async<std::size_t> adopt(store::AdoptOrder order) override { return inner_.adopt(std::move(order)); }
  Async<std::optional<store::Parcel>> load(core::EventId id) override { return inner_.load(id); }
  [[nodiscard]] bool may_begin(const core::EventId& /*id*/, const std::string& /*to*/) override {
    return !std::exchange(taken_for_dead, false);
  }

 private:
  store::Inbox& inner_;
  std::optional<store::TakenDeliveries> lost_;
};

class DispatcherTest : public testing::Test {
 protected:
  void TearDown() override {
    handler_.close();
    dispatcher_.drain();
    if (running_) EXPECT_TRUE(soon([&] { return !running_ && dispatcher_.under_way() == 0; }));
  }

  void start(inbox::Destination destination) {
    config::Config config;
    config::UpstreamConfig upstream;
    upstream.name = "app";
    upstream.urls.push_back(reading::parse_url(handler_.url()).value());
    config.upstreams.push_back(upstream);
    destination.name = "mailer";
    destination.target = inbox::HandlerTarget::parse("/send").value();
    destination.schedule.steps = {Millis{0}, Millis{1}};
    config.destinations.push_back(std::move(destination));
    world_.install(std::move(config));
    dispatcher_.add_worker(world_.context.get_executor(), [this] { return world_.plan; });
    dispatcher_.configure(world_.plan->config);
    running_ = true;
    boost::asio::co_spawn(world_.context.get_executor(), dispatcher_.run(),
                          [this](const std::exception_ptr&) { running_ = false; });
  }
  void send(const std::string& key) {
    EffectOrder effect{.source = "outbox:shop", .key = key, .destination = "mailer", .body = "{}"};
    const EffectAnswer answer = test::run(world_.context, accept_effect(&dispatcher_, std::move(effect)));
    ASSERT_EQ(answer.end, EffectEnd::accepted) << answer.detail;
  }
  // Time goes on until `holds`.
  bool soon(const std::function<bool()>& holds) {
    for (int i = 0; i < 5'000; ++i) {
      world_.settle();
      if (holds()) return true;
      world_.clock.advance(Millis{1});
      std::this_thread::sleep_for(std::chrono::microseconds{100});
    }
    return false;
  }
  std::vector<store::TakenDelivery> list(DeliveryState state) {
    store::DeliveryFilter filter;
    filter.state = state;
    return test::run(world_.context, opened_.inbox_desk->list(filter, {})).value().items;
  }
  [[nodiscard]] DestinationGate& gate() const { return *dispatcher_.gates().find("mailer"); }

  test::World world_;
  test::LoopbackHandler handler_{world_.context.get_executor()};
  store::CapableStore opened_ = store::make_capable_memory_store(world_.clock);
  UnsteadyInbox inbox_{*opened_.inbox};
  telemetry::InboxMetrics metrics_;
  Dispatcher dispatcher_{inbox_, *opened_.inbox_desk, world_.clock, metrics_, 7};
  bool running_ = false;
};

// A take whose answer was lost is answered when fewer slots are free than it has taken. All of it counts.
TEST_F(DispatcherTest, CountsWhatARepeatedTakeBrings) {
  handler_.speak = [](std::string_view) { return std::nullopt; };
  inbox::Destination destination;
  destination.concurrency = 4;
  start(destination);
  dispatcher_.pause("mailer", std::nullopt, "a test");
  for (int i = 0; i < 8; ++i) send("order:" + std::to_string(i));
  inbox_.loses_the_next_take = true;
  inbox_.limits.clear();
  dispatcher_.resume("mailer");
  ASSERT_TRUE(soon([&] { return !inbox_.limits.empty() && gate().view().running == 0; }));
  ASSERT_EQ(gate().enter(3, world_.clock.now()), 3U);  // events that were accepted meanwhile
  ASSERT_TRUE(soon([&] { return handler_.count("POST") >= 4; }));
  EXPECT_EQ(inbox_.limits, (std::vector<std::size_t>{4, 1}));
  EXPECT_EQ(gate().view().running, 7U);
  EXPECT_FALSE(soon([&] { return handler_.count("POST") > 4; })) << "there is no room";
}

// The gateway is taken for dead while it waits for a probe: another may have begun the next attempt by then.
TEST_F(DispatcherTest, BeginsNothingIfItWasTakenForDeadDuringTheProbe) {
  handler_.speak = [this](std::string_view method) -> std::optional<std::string> {
    if (method == "POST") return handler_.count("POST") == 1 ? "500 No\r\nSemel-Outcome: unknown" : "200 OK";
    inbox_.taken_for_dead = handler_.count("GET") == 1;
    return "404 Not Found";
  };
  inbox::Destination destination;
  destination.on_unknown = inbox::OnSilence::probe;
  destination.probe = inbox::HandlerTarget::parse("/effects").value();
  start(destination);
  send("order:1");
  ASSERT_TRUE(soon([&] { return !list(DeliveryState::done).empty(); }));
  EXPECT_EQ(handler_.count("GET"), 2);
  EXPECT_EQ(handler_.count("POST"), 2);
  const store::DeliveryRecord done = list(DeliveryState::done).front().event.deliveries.front();
  EXPECT_EQ(done.attempt, 3U) << "the second was not sent";
  EXPECT_EQ(done.tries, 1U) << "and is no try";
}

}  // namespace
}  // namespace semel::gateway
