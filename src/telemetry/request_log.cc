#include "telemetry/request_log.h"

#include <cstddef>

namespace semel::telemetry {
namespace {

constexpr std::size_t flush_from_bytes = 65'536;

}  // namespace

void RequestLog::add(const LogEntry& entry) {
  line_.write(lines_, entry);
  lines_.push_back('\n');
  if (lines_.size() >= flush_from_bytes) flush();
}

void RequestLog::flush() {
  sink_.write(lines_);  // even if empty: there may be a backlog
  lines_.clear();
}

}  // namespace semel::telemetry
