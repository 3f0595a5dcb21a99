// The storm of a hammer run: which request is sent when, what is tried again, and when it is over.
//
// One thread. Requests go out in the order of their keys, so those of one key are under way together. What has to wait
// before it is sent again waits in a queue and holds no connection.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <vector>

#include "cli/hammer/client.h"
#include "cli/hammer/latencies.h"
#include "cli/hammer/options.h"
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
  struct Shot {
    std::uint32_t key = 0;
    Letter letter = Letter::same;
    std::uint32_t tries = 0;
    Nanos due{0};
    friend bool operator>(const Shot& a, const Shot& b) { return a.due > b.due; }
  };

  void pump();
  std::optional<Shot> next(Nanos now);
  std::optional<Shot> next_fresh(Nanos now);
  [[nodiscard]] Nanos due(std::uint64_t index) const;
  void wake_when_due(Nanos now);
  static Task<void> fly(std::shared_ptr<Storm> self, Shot shot);
  [[nodiscard]] Cut draw_cut();
  void settle(Shot shot, const Landed& landed);
  void again(Shot shot, Nanos delay);
  void confirm(std::uint32_t key);
  [[nodiscard]] bool by_chance(std::uint32_t percent) { return percent != 0 && chance_() % 100 < percent; }

  const HammerOptions& options_;
  std::shared_ptr<HammerClient> client_;
  Clock& clock_;
  Executor executor_;
  std::mt19937_64 chance_;
  Tally tally_;
  Latencies latencies_;

  Nanos started_{0};
  Nanos progress_at_{0};
  std::uint64_t fresh_ = 0;  // how many have been taken out of keys times calls
  std::size_t flying_ = 0;
  bool running_ = false;
  std::priority_queue<Shot, std::vector<Shot>, std::greater<>> waiting_;

  // Another body is sent only when its key is taken, or it would be the first of it.
  struct Held {
    bool confirmed = false;
    std::uint32_t others = 0;
  };
  std::vector<Held> held_;

  std::unique_ptr<Clock::Alarm> alarm_;
  Nanos alarm_at_{0};
  std::shared_ptr<runtime::Pause> over_;
};

}  // namespace semel::cli
