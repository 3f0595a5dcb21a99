// The contract of store/inbox.h, against every store that has an inbox: in memory, on disk and on PostgreSQL (direct
// and through PgBouncer), plain and encrypted.
//
//   InboxContract       any of them
//   KeptInboxContract   those that are there again after a restart
//   LoneInboxContract   those that no other process shares
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "core/crypto.h"
#include "core/identity.h"
#include "inbox/contract_clock.h"
#include "inbox/inbox_database.h"
#include "store/capable_store.h"
#include "store/embedded/store.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "store/memory.h"
#include "store/sealed_store.h"
#include "support/run.h"
#include <semel/key.h>
#include <semel/stores.h>

namespace semel::test {

using store::AcceptedEvent;
using store::AcceptOrder;
using store::DeliveryChange;
using store::DeliveryRecord;
using store::DeliveryState;
using store::Line;

inline constexpr Millis hour{3'600'000};

struct InboxBackend {
  std::string name;
  bool keeps = false;
  bool sealed = false;
  InboxServer server = InboxServer::none;

  [[nodiscard]] bool shared() const { return server != InboxServer::none; }
};

inline void PrintTo(const InboxBackend& backend, std::ostream* out) {
  *out << backend.name;
}

class InboxContract : public testing::TestWithParam<InboxBackend> {
 protected:
  InboxContract() {
    std::string pattern = (std::filesystem::temp_directory_path() / "semel-inbox-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder: " + pattern);
    folder_ = pattern;
    if (GetParam().shared()) {
      database_ = InboxDatabase::of(GetParam().server, GetParam().sealed);
      database_->clear();
      clock_.go_by([this](Millis by) { database_->age(by); });
    }
    open();
    adopt();
  }
  ~InboxContract() override {
    opened_.store.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  void open() {
    const std::vector<core::AesKey> keys =
        GetParam().sealed ? std::vector{core::AesKey{7}} : std::vector<core::AesKey>{};
    if (GetParam().shared()) {
      opened_ = database_->open(clock_, keys);
    } else if (GetParam().keeps) {
      EmbeddedOptions options;
      options.path = folder_ / "data";
      Result<store::CapableStore> store = store::embedded::open_with_keys(clock_, options, keys);
      if (!store) throw std::runtime_error(store.error().detail);
      opened_ = *std::move(store);
    } else {
      opened_ = store::make_capable_memory_store(clock_);
      if (GetParam().sealed) opened_.identity = core::StoreIdentity{5, 4, 3};
    }
    if (GetParam().sealed) opened_ = store::make_sealed_store(std::move(opened_), keys, store::Unsealed::refused);
  }
  // As if the process had been killed and started again, and others had noticed that it is dead.
  void restart() {
    opened_.store.reset();
    opened_ = {};
    open();
    if (GetParam().shared()) clock_.advance(dead_by_then);
  }
  void adopt(const std::vector<std::string>& holding = {}, const std::vector<std::string>& holding_replays = {}) {
    const store::AdoptOrder order{.limit = 2, .rest = hour, .holding = holding, .holding_replays = holding_replays};
    for (;;) {
      const Result<std::size_t> adopted = run(context_, opened_.inbox->adopt(order));
      if (!adopted) throw std::runtime_error(adopted.error().detail);
      if (*adopted == 0) return;
    }
  }

  static AcceptOrder order(const std::string& text, bool room, const std::vector<std::string>& to = {"billing"}) {
    AcceptOrder made;
    made.key = make_key("webhook:/h", "", text).value();
    made.ttl = 24 * hour;
    made.owner = 7;
    made.source = "/h";
    made.type = "charge.paid";
    for (const std::string& name : to) made.to.push_back({.name = name, .room = room, .skipped_by = {}});
    made.parcel = std::make_shared<const store::Parcel>(
        store::Parcel{.status = 200, .fields = {{.name = "X-Of", .value = text}}, .body = "body of " + text});
    made.depth_max = 1'000'000;
    made.bytes_max = 1ULL << 40U;
    made.retain_ended = hour;
    return made;
  }
  Result<store::Acceptance> offer(AcceptOrder order) {
    store::AcceptReply reply = [](const core::EventId& id, const Key&, const Fence&) {
      return std::make_shared<const Response>(
          Response{.status = 200, .fields = {{.name = "Semel-Event", .value = id.text()}}, .body = {}});
    };
    return run(context_, opened_.inbox->accept(std::move(order), std::move(reply)));
  }
  AcceptedEvent accept(AcceptOrder order) {
    Result<store::Acceptance> accepted = offer(std::move(order));
    if (!accepted) throw std::runtime_error(accepted.error().detail);
    auto* const event = std::get_if<AcceptedEvent>(&*accepted);
    if (event == nullptr) throw std::runtime_error("it was not accepted");
    return std::move(*event);
  }
  AcceptedEvent accept(const std::string& text, bool room = false) { return accept(order(text, room)); }

  std::vector<store::TakenDelivery> take(std::size_t limit = 100, const std::string& to = "billing") {
    store::TakeOrder order{.to = to, .limit = limit, .replays_max = limit};
    Result<store::TakenDeliveries> taken = run(context_, opened_.inbox->take(std::move(order)));
    if (!taken) throw std::runtime_error(taken.error().detail);
    next_ = taken->next;
    return std::move(taken->deliveries);
  }
  std::vector<std::string> taken_texts(std::size_t limit = 100) {
    std::vector<std::string> texts;
    for (const store::TakenDelivery& each : take(limit)) texts.push_back(text_of(each.event.id));
    return texts;
  }
  std::string text_of(const core::EventId& id) {
    const Result<std::optional<store::Parcel>> parcel = run(context_, opened_.inbox->load(id));
    if (!parcel) throw std::runtime_error(parcel.error().detail);
    return *parcel ? (*parcel)->fields.front().value : std::string();
  }
  Result<void> settle(const core::EventId& id, std::uint32_t attempt, DeliveryState state, Millis wait = Millis{0},
                      const std::string& to = "billing") {
    store::SettleOrder order;
    order.id = id;
    order.to = to;
    order.attempt = attempt;
    order.state = state;
    order.wait = wait;
    order.status = 200;
    order.why = "a test";
    order.retain_ended = hour;
    return run(context_, opened_.inbox->settle(std::move(order)));
  }
  // The first attempt ends; what came with the event is kept for so long.
  void settle_for(const core::EventId& id, const std::string& to, DeliveryState state, Millis retain) {
    store::SettleOrder order;
    order.id = id;
    order.to = to;
    order.attempt = 1;
    order.state = state;
    order.why = "a test";
    order.retain_ended = retain;
    const Result<void> settled = run(context_, opened_.inbox->settle(std::move(order)));
    if (!settled) throw std::runtime_error(settled.error().detail);
  }
  void sweep() {
    for (int round = 0; round < 3; ++round) {
      const Result<std::size_t> swept = run(context_, opened_.inbox_desk->sweep_inbox(100));
      if (!swept) throw std::runtime_error(swept.error().detail);
    }
  }
  Result<AcceptedEvent> change(const core::EventId& id, DeliveryChange::What what) {
    DeliveryChange made;
    made.id = id;
    made.to = "billing";
    made.what = what;
    made.reason = "a test";
    made.retain_ended = hour;
    return run(context_, opened_.inbox_desk->change(std::move(made)));
  }
  DeliveryRecord see(const core::EventId& id) {
    const Result<std::optional<AcceptedEvent>> found = run(context_, opened_.inbox_desk->find(id));
    if (!found || !*found) throw std::runtime_error("there is no such event");
    return (*found)->deliveries.front();
  }
  std::vector<store::DeliveryTally> status() {
    Result<std::vector<store::DeliveryTally>> tallies = run(context_, opened_.inbox_desk->status());
    if (!tallies) throw std::runtime_error(tallies.error().detail);
    return *std::move(tallies);
  }
  std::uint64_t count(DeliveryState state) {
    std::uint64_t all = 0;
    for (const store::DeliveryTally& tally : status()) all += tally.by_state.at(static_cast<std::size_t>(state));
    return all;
  }
  // How many hours ago the oldest that had to wait was accepted.
  std::optional<Millis::rep> oldest_hours() {
    const std::vector<store::DeliveryTally> tallies = status();
    if (tallies.empty() || !tallies.front().oldest) return std::nullopt;
    return (clock_.now() - *tallies.front().oldest) / hour;
  }
  // The figures are those of the list, what was accepted is the sum of all states, and the auditor finds no stray.
  void expect_balance() {
    ASSERT_TRUE(run(context_, opened_.inbox_desk->sweep_inbox(1'000)).has_value());
    std::map<DeliveryState, std::uint64_t> seen;
    std::string cursor;
    do {
      store::DeliveryFilter filter;
      filter.items_max = 3;
      const Result<store::DeliveryList> page = run(context_, opened_.inbox_desk->list(filter, cursor));
      ASSERT_TRUE(page.has_value());
      for (const store::TakenDelivery& each : page->items) ++seen[each.event.deliveries[each.at].state];
      cursor = page->cursor;
    } while (!cursor.empty());
    for (std::size_t i = 1; i < store::delivery_states; ++i) {
      const auto state = static_cast<DeliveryState>(i);
      EXPECT_EQ(count(state), seen[state]) << name(state);
    }
    for (const store::DeliveryTally& tally : status()) EXPECT_EQ(tally.unaccounted(), 0) << tally.to;
  }
  static AcceptOrder in_line(const std::string& text, const std::string& stamp, Line::Kind kind, bool room = false) {
    AcceptOrder made = order(text, room);
    made.line.kind = kind;
    made.line.object = {1, 2, 3};
    made.line.stamp = stamp;
    return made;
  }

  boost::asio::io_context context_{1};
  ContractClock clock_;
  std::shared_ptr<InboxDatabase> database_;  // of a server
  std::filesystem::path folder_;
  store::CapableStore opened_;
  std::optional<Time> next_;
};

class KeptInboxContract : public InboxContract {};
class LoneInboxContract : public InboxContract {};

}  // namespace semel::test
