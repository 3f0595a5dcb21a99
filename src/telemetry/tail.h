// Lines of requests as they happen, for those who watch: the desk's tail.
//
// Nobody watches most of the time, and then a request pays for one load of a number. A line is made only if somebody
// watches who wants it. Each watcher has room for so many lines; what comes when there is no room is dropped and
// counted, so that a slow watcher never holds up a request.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "telemetry/log_line.h"

namespace semel::telemetry {

// Which lines a watcher wants. What is empty does not matter.
struct TailFilter {
  std::string route;      // as the configuration has it
  std::string outcome;    // an outcome or a problem
  std::string status;     // "503", or "5xx"
  std::string key_begin;  // of the key's hash, in lower case hexadecimal

  [[nodiscard]] bool takes(const LogEntry& entry) const;
};

// Shared by all threads.
class Tail {
 public:
  static constexpr std::size_t watchers_max = 16;
  static constexpr std::size_t lines_max = 10'000;
  static constexpr std::size_t bytes_max = 4U << 20U;

  [[nodiscard]] bool watched() const { return count_.load(std::memory_order_relaxed) != 0; }
  void offer(const LogEntry& entry);

  // What has come since the last time.
  struct Lines {
    std::vector<std::string> lines;
    std::uint64_t dropped = 0;
  };

  // A watcher; gone when it is destroyed. The tail outlives it.
  class Watcher {
   public:
    Watcher(Tail& tail, std::size_t number) : tail_(tail), number_(number) {}
    ~Watcher();
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;

    Lines take();

   private:
    Tail& tail_;
    std::size_t number_;
  };

  // Null if there are too many already.
  std::unique_ptr<Watcher> watch(TailFilter filter);

 private:
  struct Seat {
    std::size_t number = 0;
    TailFilter filter;
    Lines waiting;
    std::size_t bytes = 0;
  };

  std::atomic<std::size_t> count_{0};
  std::mutex mutex_;
  std::vector<Seat> seats_;
  std::size_t next_ = 0;
  LogLine line_;
};

}  // namespace semel::telemetry
