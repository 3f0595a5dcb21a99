// Delivers what the inbox holds: the gateway that accepted an event calls its handler.
//
//   accepted, with room    ──▶ launch(): an attempt on the thread that accepted it; nothing is read back
//   waiting                ──▶ run(): one coroutine on the first thread takes what is due, for all threads
//   attempt ended          ──▶ settled, its slot left; run() is woken if something waits for the slot
//
// No attempt begins that is not durably running under its number. When the gateway drains, attempts under way end and
// are settled; what waits stays where it is.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "gateway/answer_waiters.h"
#include "gateway/destination_gate.h"
#include "gateway/job_runner.h"
#include "gateway/plan.h"
#include "inbox/destination.h"
#include "inbox/verdict.h"
#include "runtime/pause.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "store/inbox_jobs.h"
#include "telemetry/attempt_pad.h"
#include "telemetry/inbox_metrics.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::gateway {

class Dispatcher {
 public:
  using PlanOf = std::function<std::shared_ptr<const Plan>()>;  // of a worker, asked on its thread

  // All of these outlive it. `seed` must differ from process to process.
  Dispatcher(store::Inbox& inbox, store::InboxDesk& desk, Clock& clock, telemetry::InboxMetrics& metrics,
             std::uint64_t seed);

  // Before run().
  void add_worker(Executor executor, PlanOf plan);
  // At the start, and for each reload. From any thread.
  void configure(const std::shared_ptr<const config::Config>& config);

  // The store has bulk work. Before run(); `jobs` outlives it.
  void add_jobs(store::InboxJobs& jobs);
  // Null if it has none.
  [[nodiscard]] JobRunner* jobs() { return jobs_.get(); }

  // Where attempts are noted for operators. Before run(); `pad` outlives it.
  void note_attempts(telemetry::AttemptPad& pad) { notes_.attempts = &pad; }

  // On the first worker's thread, until drain().
  Task<void> run();
  void drain();
  // Attempts that have begun and are not settled, and one more if others are to be told that this process leaves.
  [[nodiscard]] std::size_t under_way() const { return counts_.under_way.load(std::memory_order_relaxed); }

  [[nodiscard]] store::Inbox& inbox() { return inbox_; }
  [[nodiscard]] store::InboxDesk& desk() { return desk_; }
  [[nodiscard]] telemetry::InboxMetrics& metrics() { return notes_.metrics; }
  [[nodiscard]] const DestinationGates& gates() const { return gates_; }
  [[nodiscard]] AnswerWaiters& waiters() { return waiters_; }

  // A worker on whose thread something is to be accepted, and what it knows there: each in turn. From any thread.
  struct Seat {
    Executor executor;
    PlanOf plan;
  };
  [[nodiscard]] const Seat& next_seat();
  [[nodiscard]] const std::vector<Seat>& seats() const { return seats_; }
  // Random; never 0. From any thread.
  std::uint64_t next_owner();
  [[nodiscard]] bool draining() const { return draining_; }
  [[nodiscard]] Clock& clock() { return clock_; }

  // Begins the attempt of a delivery that is running, on this thread. Its slot has been entered.
  void launch(std::shared_ptr<const Plan> plan, store::TakenDelivery delivery,
              std::shared_ptr<const store::Parcel> parcel, const Executor& executor);
  // Something may be due for this destination. From any thread.
  void expect(const std::string& to, Time at);
  void pause(const std::string& to, std::optional<Time> until, const std::string& reason);
  void resume(const std::string& to);

 private:
  Task<void> adopt();
  Task<void> restore_pauses();
  Task<void> look_at_others();
  Task<void> lead();
  Task<void> leave();
  void divide();
  Task<void> keep_house();
  Task<std::optional<Millis>> serve(std::shared_ptr<DestinationGate> gate);
  Task<void> deliver(std::shared_ptr<const Plan> plan, store::TakenDelivery delivery,
                     std::shared_ptr<const store::Parcel> parcel);
  Task<std::optional<store::SettleOrder>> attempt(const Plan* plan, const inbox::Destination* destination,
                                                  const store::TakenDelivery* delivery, const store::Parcel* parcel,
                                                  inbox::Health* health);
  Task<void> settle(store::SettleOrder order);
  void hand_out(store::TakenDelivery delivery);
  void wake();
  std::uint64_t roll();
  double chance();

  store::Inbox& inbox_;
  store::InboxDesk& desk_;
  Clock& clock_;
  // Where it is noted what happens.
  struct Notes {
    telemetry::InboxMetrics& metrics;
    telemetry::AttemptPad* attempts;  // null if the store keeps no history
  };
  Notes notes_;
  DestinationGates gates_;
  std::vector<Seat> seats_;
  struct Counts {
    std::atomic<std::size_t> next_seat{0};
    std::atomic<std::size_t> under_way{0};
    std::atomic<std::uint64_t> dice{0};
    std::atomic<bool> waking{false};  // run() has been woken, and has not heard it yet
  };
  Counts counts_;
  AnswerWaiters waiters_;
  std::atomic<bool> draining_{false};
  // Of run(), on the first worker's thread.
  struct Rounds {
    std::shared_ptr<runtime::Pause> pause;
    Time kept_house{};
    Time looked_at_others{};
    bool leads = false;  // some destination is, or was, to be led
  };
  Rounds rounds_;
  std::unique_ptr<JobRunner> jobs_;
  std::atomic<Millis::rep> rest_{0};  // of what a dead process left: the longest lease of those with an inbox
};

}  // namespace semel::gateway
