// Which request of a hammer run is sent next, and when. Pure: it is told the time and opens no connection.
//
// Requests go out in the order of their keys, so those of one key are under way together. What has to be sent again
// waits in a queue until it is due.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <random>
#include <vector>

#include "cli/hammer/client.h"
#include "cli/hammer/options.h"
#include "cli/hammer/verdict.h"

namespace semel::cli {

// One request to be sent.
struct Shot {
  std::uint32_t key = 0;
  Letter letter = Letter::same;
  std::uint32_t tries = 0;
  std::chrono::nanoseconds due{0};
  friend bool operator>(const Shot& a, const Shot& b) { return a.due > b.due; }
};

class Schedule {
 public:
  using Nanos = std::chrono::nanoseconds;

  // `seed` decides which bodies differ and which connections are cut.
  Schedule(const HammerOptions& options, std::uint64_t seed);

  // At a given rate, the first request is due at this time. To be called first.
  void start(Nanos now) { started_ = now; }
  // A request that is due, or null.
  std::optional<Shot> next(Nanos now);
  // When there will be one. Null if every request has been handed out, and none is to be sent again.
  [[nodiscard]] std::optional<Nanos> next_due() const;
  // To be sent once more.
  void again(Shot shot, Nanos due);
  // The key is taken: other bodies under it, which were held back until now, may go.
  void confirm(std::uint32_t key, Nanos now);
  // Whether and where the connection of the next request is to be cut.
  [[nodiscard]] Cut draw_cut();

 private:
  // Another body is sent only when its key is taken, or it would be the first of it.
  struct Held {
    bool confirmed = false;
    std::uint32_t others = 0;
  };

  std::optional<Shot> next_fresh(Nanos now);
  [[nodiscard]] Nanos fresh_due() const;
  [[nodiscard]] std::uint64_t total() const { return std::uint64_t{options_.keys} * options_.calls; }
  [[nodiscard]] bool by_chance(std::uint32_t percent) { return percent != 0 && chance_() % 100 < percent; }

  const HammerOptions& options_;
  std::mt19937_64 chance_;
  Nanos started_{0};
  std::uint64_t fresh_ = 0;  // how many have been taken out of keys times calls
  std::priority_queue<Shot, std::vector<Shot>, std::greater<>> waiting_;
  std::vector<Held> held_;
};

}  // namespace semel::cli
