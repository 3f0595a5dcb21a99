// One JSON line per request, gathered per thread and written in large pieces.
//
// A line holds no key, body, secret or authorization: of the key a short hash, of the query nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "config/config.h"
#include <semel/clock.h>
#include <semel/key.h>

namespace semel::telemetry {

// Where lines go: one per process. Whole lines, never torn. Never waits for whoever reads them: what they do not take
// is kept for a while, and then new lines are thrown away.
class LogSink {
 public:
  explicit LogSink(int file_descriptor);
  ~LogSink();  // waits for a second, if that helps
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

struct LogEntry {
  Time at;
  config::LogLevel level = config::LogLevel::info;
  std::string_view method;
  std::string_view path;
  std::string_view route;
  std::string_view outcome;
  std::string_view problem;
  std::uint16_t status = 0;
  const Key* key = nullptr;
  std::uint64_t fence = 0;
  std::chrono::nanoseconds time{0};
  std::chrono::nanoseconds upstream_time{0};
  std::string_view trace;  // of traceparent
  std::string_view detail;
  std::string_view event_type;  // of a webhook
  std::string_view object;      // what its event is about, by the provider's name
};

// Used by one thread.
class RequestLog {
 public:
  explicit RequestLog(LogSink& sink) : sink_(sink) {}
  ~RequestLog() { flush(); }
  RequestLog(const RequestLog&) = delete;
  RequestLog& operator=(const RequestLog&) = delete;

  void add(const LogEntry& entry);
  void flush();

 private:
  void append_time(Time at);

  LogSink& sink_;
  std::string lines_;
  std::chrono::sys_seconds second_;  // that `second_text_` says: many lines share it
  std::string second_text_;
};

// Appends `text` as the inside of a JSON string.
void append_json_escaped(std::string& out, std::string_view text);

}  // namespace semel::telemetry
