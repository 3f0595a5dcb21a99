// Events that were not handled when they came, so that their sender has to send them again: how many there are, and how
// long ago each came first. A provider repeats an event for some time (its horizon) and then gives up; this is the lag
// that is held against it.
//
//   not acknowledged ──▶ awaited ──▶ handled, or acknowledged for another reason: forgotten here
//                           └──▶ older than `kept_for`: forgotten, too
//
// It knows what this process has seen, in memory for 4,096 events of a webhook. When all places are taken the events
// that are there stay, because the oldest matter most, and the view says that there are more. An event that
// another gateway has handled stays until somebody says forget().
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <semel/clock.h>
#include <semel/key.h>

namespace semel::telemetry {

class AwaitedEvents {
 public:
  static constexpr std::size_t places = 4'096;
  static constexpr Millis kept_for = std::chrono::days(40);  // longer than any provider repeats

  struct Awaited {
    Digest key{};
    Time since{};  // it came for the first time
    Time last{};
    std::uint64_t times = 0;  // that it came
  };
  struct View {
    std::vector<Awaited> events;  // the oldest first
    bool partial = false;         // there are more than there are places
  };

  void add(const Digest& key, Time now);
  void forget(const Digest& key);
  [[nodiscard]] View view(Time now);

 private:
  struct KeyHash {
    std::size_t operator()(const Digest& key) const;
  };
  void forget_old(Time now);

  std::mutex mutex_;
  std::unordered_map<Digest, Awaited, KeyHash> events_;
  std::atomic<std::size_t> size_{0};  // most webhooks await nothing, and most events need no lock to know that
  bool partial_ = false;
};

}  // namespace semel::telemetry
