// One JSON line per request, gathered per thread and written in large pieces.
#pragma once

#include <string>

#include "telemetry/log_line.h"  // IWYU pragma: export
#include "telemetry/log_sink.h"  // IWYU pragma: export

namespace semel::telemetry {

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
  LogSink& sink_;
  LogLine line_;
  std::string lines_;
};

}  // namespace semel::telemetry
