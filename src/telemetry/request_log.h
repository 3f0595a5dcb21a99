// One JSON line per request, gathered per thread and written in large pieces.
//
// A line holds no key, body, secret or authorization. It has a short hash of the key, and nothing of the query.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/config.h"
#include "telemetry/log_sink.h"  // IWYU pragma: export
#include <semel/clock.h>
#include <semel/key.h>

namespace semel::telemetry {

struct LogEntry {
  Time at;
  config::LogLevel level = config::LogLevel::info;
  std::string_view method;
  std::string_view path;
  std::string_view route;
  std::string_view token = {};  // the name of one, of the claims API
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
  std::string_view time_text(Time at);

  LogSink& sink_;
  std::string lines_;
  std::chrono::sys_seconds second_;  // the one in `time_`: many lines share it
  std::string time_;                 // of the line before; empty if there was none
};

}  // namespace semel::telemetry
