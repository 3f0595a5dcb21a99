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
#include "runtime/pause.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "store/inbox_jobs.h"
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

  // On the first worker's thread, until drain().
  Task<void> run();
  void drain();
  // Attempts that have begun and are not settled.
  [[nodiscard]] std::size_t under_way() const { return counts_.under_way.load(std::memory_order_relaxed); }

  [[nodiscard]] store::Inbox& inbox() { return inbox_; }
  [[nodiscard]] store::InboxDesk& desk() { return desk_; }
  [[nodiscard]] telemetry::InboxMetrics& metrics() { return metrics_; }
  [[nodiscard]] const DestinationGates& gates() const { return gates_; }
  [[nodiscard]] AnswerWaiters& waiters() { return waiters_; }

  // Begins the attempt of a delivery that is running, on this thread. Its slot has been entered.
  void launch(std::shared_ptr<const Plan> plan, store::TakenDelivery delivery,
              std::shared_ptr<const store::Parcel> parcel, const Executor& executor);
  // Something may be due for this destination. From any thread.
  void expect(const std::string& to, Time at);
  void pause(const std::string& to, std::optional<Time> until, const std::string& reason);
  void resume(const std::string& to);

 private:
  struct Seat {
    Executor executor;
    PlanOf plan;
  };

  Task<void> adopt();
  Task<void> restore_pauses();
  Task<void> look_at_others();
  Task<void> keep_house();
  Task<std::optional<Millis>> serve(std::shared_ptr<DestinationGate> gate);
  Task<void> deliver(std::shared_ptr<const Plan> plan, store::TakenDelivery delivery,
                     std::shared_ptr<const store::Parcel> parcel);
  Task<void> settle(store::SettleOrder order);
  void hand_out(store::TakenDelivery delivery);
  void wake();
  double chance();

  store::Inbox& inbox_;
  store::InboxDesk& desk_;
  Clock& clock_;
  telemetry::InboxMetrics& metrics_;
  DestinationGates gates_;
  std::vector<Seat> seats_;
  struct Counts {
    std::atomic<std::size_t> next_seat{0};
    std::atomic<std::size_t> under_way{0};
    std::atomic<std::uint64_t> dice{0};
  };
  Counts counts_;
  AnswerWaiters waiters_;
  std::atomic<bool> draining_{false};
  // Of run(), on the first worker's thread.
  struct Rounds {
    std::shared_ptr<runtime::Pause> pause;
    Time kept_house{};
    Time looked_at_others{};
  };
  Rounds rounds_;
  std::unique_ptr<JobRunner> jobs_;
  std::atomic<Millis::rep> rest_{0};  // of what a dead process left: the longest lease of those with an inbox
};

}  // namespace semel::gateway
