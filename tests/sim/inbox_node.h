// One process of the simulated inbox, from its start to its death: the store's real rules and batches over the
// simulated disk, the real gates, verdicts and schedules, and the same way of an event as in the gateway's dispatcher.
//
//   provider ──▶ receive() ──batch──▶ disk ──▶ heard, attempts begin
//                serve()   ──batch──▶ disk ──▶ attempts begin           what waits, as far as a gate has room
//                handler answers ──batch──▶ disk                        settled; repeated while the store does not work
//
// Answers of a batch reach their callers one by one, so a process can die between what is durable and what follows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "gateway/destination_gate.h"
#include "gateway/handler_call.h"
#include "sim/inbox_disk.h"
#include "sim/inbox_oracle.h"
#include "sim/inbox_world.h"
#include "store/call.h"
#include "store/embedded/batch.h"
#include "store/embedded/recent_writes.h"
#include "store/inbox.h"
#include "store/inbox_book.h"
#include "store/inbox_desk.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::sim {

enum class Heard : std::uint8_t { taken, known, refused };

class InboxNode {
 public:
  // `ends` is called when the process cannot go on: its commit was cut off, or its disk has stopped.
  InboxNode(InboxWorld& world, InboxDisk& disk, InboxOracle& oracle, std::uint32_t holder, std::function<void()> ends);

  void start();
  void die() { life_.reset(); }
  [[nodiscard]] bool alive() const { return life_ != nullptr; }

  // A provider sends an event; what it hears, if the process lives that long.
  void receive(const SimEvent& event, std::function<void(Heard)> hears);
  // Operators.
  void change(const store::DeliveryChange& change);
  void pause(const std::string& to);
  void resume(const std::string& to);

 private:
  using Step = std::function<Result<void>(store::InboxBook&, store::InboxTable&, store::KeyRecords&, Time)>;
  using Then = std::function<void(const Result<void>&)>;
  struct Letter {
    store::InboxCall call;
    Then then;
    std::map<std::string, Time> dues;
  };

  // If it is still alive then.
  void later(Millis delay, std::function<void()> what);
  void submit(Step step, Then then);
  void run_batch();
  void hear(const std::shared_ptr<Letter>& letter);

  void adopt();
  void round();
  void keep_house();
  void serve(const std::string& to);
  void took(const std::string& to, std::size_t slots, Time now, const Result<void>& answer,
            const store::TakenDeliveries& taken);
  void follow_up(const store::AcceptOrder& order, const store::AcceptedEvent* event);
  void launch(store::TakenDelivery delivery);
  void settle(std::shared_ptr<const store::TakenDelivery> delivery, const store::SettleOrder& order,
              inbox::Health health);
  void expect_due(const std::string& to, Time at);
  void control(const store::DestinationControl& control);

  InboxWorld& world_;
  InboxDisk& disk_;
  InboxOracle& oracle_;
  std::function<void()> ends_;
  store::InboxBook book_;
  store::embedded::RecentWrites recent_;
  gateway::DestinationGates gates_;
  std::shared_ptr<int> life_ = std::make_shared<int>(0);  // what is planned for a later time holds it weakly
  std::deque<std::shared_ptr<Letter>> queue_;
  bool batch_planned_ = false;
  bool adopted_ = false;  // what the last process left; nothing is taken before that
  std::set<std::string> serving_;
};

}  // namespace semel::sim
