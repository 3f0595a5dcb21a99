// One of several processes on one inbox: a store of its own on a database that others use, too.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "core/event_id.h"
#include "store/capable_store.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "support/run.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::test {

using store::AcceptedEvent;
using store::DeliveryState;

inline constexpr Millis lease{3'600'000};

class SharedNode {
 public:
  explicit SharedNode(store::CapableStore opened) : opened_(std::move(opened)) {}

  Result<store::Acceptance> offer(const std::string& text, bool room) {
    store::AcceptOrder order;
    order.key = make_key("webhook:/h", "", text).value();
    order.ttl = 24 * lease;
    order.owner = ++owners_;
    order.source = "/h";
    order.type = std::string("with a \0 in it", 14);
    order.to.push_back({.name = "billing", .room = room, .skipped_by = {}});
    order.parcel = std::make_shared<const store::Parcel>(store::Parcel{.status = 200, .fields = {}, .body = text});
    order.depth_max = depth_max_;
    order.bytes_max = 1ULL << 40U;
    store::AcceptReply reply = [](const core::EventId&, const Key&, const Fence&) {
      return std::make_shared<const Response>(Response{.status = 200, .fields = {}, .body = {}});
    };
    return run(context_, opened_.inbox->accept(std::move(order), std::move(reply)));
  }
  AcceptedEvent accept(const std::string& text, bool room) {
    Result<store::Acceptance> accepted = offer(text, room);
    if (!accepted) throw std::runtime_error(accepted.error().detail);
    return std::get<AcceptedEvent>(*accepted);
  }
  std::vector<store::TakenDelivery> take(std::size_t limit = 1'000) {
    store::TakeOrder order{.to = "billing", .limit = limit, .replays_max = limit};
    Result<store::TakenDeliveries> taken = run(context_, opened_.inbox->take(std::move(order)));
    if (!taken) throw std::runtime_error(taken.error().detail);
    return std::move(taken->deliveries);
  }
  Result<void> settle(const core::EventId& id, std::uint32_t attempt, DeliveryState state = DeliveryState::done) {
    store::SettleOrder order;
    order.id = id;
    order.to = "billing";
    order.attempt = attempt;
    order.state = state;
    order.retain_ended = lease;
    return run(context_, opened_.inbox->settle(std::move(order)));
  }
  // What it has adopted until nothing was left.
  void adopt() {
    for (int round = 0; round < 1'000; ++round) {
      const Result<std::size_t> adopted =
          run(context_, opened_.inbox->adopt({.limit = 64, .rest = lease, .holding = {}}));
      if (!adopted) throw std::runtime_error(adopted.error().detail);
      if (*adopted == 0) return;
    }
    throw std::runtime_error("there is always something left to adopt");
  }
  store::DeliveryTally tally() {
    const Result<std::size_t> swept = run(context_, opened_.inbox_desk->sweep_inbox(1'000));
    if (!swept) throw std::runtime_error(swept.error().detail);
    Result<std::vector<store::DeliveryTally>> tallies = run(context_, opened_.inbox_desk->status());
    if (!tallies) throw std::runtime_error(tallies.error().detail);
    return tallies->empty() ? store::DeliveryTally{} : tallies->front();
  }
  // How many deliveries that have not ended it believes to be enough.
  void set_depth_max(std::uint64_t depth) { depth_max_ = depth; }
  bool may_begin(const core::EventId& id) { return opened_.inbox->may_begin(id, "billing"); }
  store::CapableStore& opened() { return opened_; }
  boost::asio::io_context& context() { return context_; }

 private:
  boost::asio::io_context context_{1};
  store::CapableStore opened_;
  std::uint64_t depth_max_ = 1'000'000;
  static inline std::atomic<std::uint64_t> owners_{0};
};

// Waits until `holds`, for a minute at most.
inline bool soon(const std::function<bool()>& holds) {
  for (int i = 0; i < 6'000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(Millis{10});
  }
  return false;
}

}  // namespace semel::test
