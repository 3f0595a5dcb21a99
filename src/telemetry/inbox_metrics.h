// What an operator can count of the inbox. The states are those of the store, as they were a moment ago.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace semel::telemetry {

class InboxMetrics {
 public:
  struct StateCount {
    std::string source;
    std::string destination;
    std::string state;
    std::uint64_t count = 0;
  };
  struct Age {
    std::string source;
    std::string destination;
    double seconds = 0;
  };
  struct Snapshot {
    std::vector<StateCount> states;
    std::vector<Age> oldest;       // that had to wait, by source and destination; 0 if there is none
    std::uint64_t accepted = 0;    // deliveries, ever
    std::int64_t unaccounted = 0;  // accepted, and in no state: 0 unless something was lost
    std::uint64_t bytes = 0;       // that are kept
    std::uint64_t breakers_open = 0;
    std::uint64_t paused = 0;
  };

  void show(Snapshot snapshot);

  std::atomic<std::uint64_t> attempts{0};
  std::atomic<std::uint64_t> failures{0};    // attempts that were not the last
  std::atomic<std::uint64_t> unreadable{0};  // events and queues that the store could not read
  std::atomic<std::uint64_t> refused{0};     // events that were not accepted for want of room, or of a store

  // Nothing if there is no inbox in use.
  void render(std::string& out) const;

 private:
  mutable std::mutex mutex_;
  Snapshot snapshot_;
  bool shown_ = false;
};

}  // namespace semel::telemetry
