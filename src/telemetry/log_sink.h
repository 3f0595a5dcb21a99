// Where the lines of the log go: one per process.
//
// Whole lines, never torn. A slow reader never blocks a request: 1 MiB is buffered, then new lines are dropped and
// counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace semel::telemetry {

class LogSink {
 public:
  explicit LogSink(int file_descriptor);
  ~LogSink();  // waits up to a second for the reader
  LogSink(const LogSink&) = delete;
  LogSink& operator=(const LogSink&) = delete;

  void write(std::string_view lines);
  [[nodiscard]] std::uint64_t lines_dropped() const { return lines_dropped_.load(std::memory_order_relaxed); }

 private:
  std::size_t take(std::string_view text) const;

  std::mutex mutex_;
  const int file_descriptor_;
  const std::size_t bytes_at_once_;
  std::string backlog_;
  std::atomic<std::uint64_t> lines_dropped_{0};
};

}  // namespace semel::telemetry
