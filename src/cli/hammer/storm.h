// The storm of a hammer run: sends what the schedule says, decides what is tried again, and when it is over.
//
// One thread. What has to wait before it is sent again holds no connection.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "cli/hammer/client.h"
#include "cli/hammer/latencies.h"
#include "cli/hammer/options.h"
#include "cli/hammer/schedule.h"
#include "cli/hammer/verdict.h"
#include "runtime/pause.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::cli {

// Lives as long as its last request, which may be longer than run().
class Storm : public std::enable_shared_from_this<Storm> {
 public:
  // Used on `executor` only. `seed` decides what is cut and which bodies differ.
  Storm(const HammerOptions& options, std::shared_ptr<HammerClient> client, Clock& clock, Executor executor,
        std::uint64_t seed);

  // Returns when every request has its final answer, or when stop() was called.
  Task<void> run();
  void stop();

  [[nodiscard]] const Tally& tally() const { return tally_; }
  [[nodiscard]] const Latencies& latencies() const { return latencies_; }
  // How long ago the last request got its final answer.
  [[nodiscard]] std::chrono::nanoseconds silence() const {
    return running_ ? clock_.stopwatch() - progress_at_ : std::chrono::nanoseconds(0);
  }

 private:
  using Nanos = std::chrono::nanoseconds;

  void pump();
  void wake_when_due(Nanos now);
  static Task<void> fly(std::shared_ptr<Storm> self, Shot shot);
  void settle(const Shot& shot, const Landed& landed);

  const HammerOptions& options_;
  std::shared_ptr<HammerClient> client_;
  Clock& clock_;
  Executor executor_;
  Tally tally_;
  Latencies latencies_;
  Schedule schedule_;
  Nanos progress_at_{0};
  std::size_t flying_ = 0;
  bool running_ = false;
  struct Wake {
    std::unique_ptr<Clock::Alarm> alarm;
    Nanos at{0};
  };
  Wake wake_;
  std::shared_ptr<runtime::Pause> over_;
};

}  // namespace semel::cli
