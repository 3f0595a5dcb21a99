// What is said of one request, and how: a line of JSON, for the log and for those who watch.
//
// A line holds no key, body, secret or authorization. It has short hashes of the key and of the scope, and nothing of
// the query.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/config.h"
#include <semel/clock.h>
#include <semel/key.h>

namespace semel::telemetry {

inline constexpr std::size_t key_bytes_shown = 6;
inline constexpr std::size_t agent_bytes_max = 120;

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
  std::string_view cause = {};    // of an outcome that is not known, or of an upstream that was not reached
  std::string_view differs = {};  // from the request that the key belongs to
  std::string_view would = {};    // mode = "observe": what enforcing would have done
  std::string_view client = {};   // its address
  std::string_view agent = {};    // as much of its User-Agent as is shown
  std::string_view trace;         // of traceparent
  std::string_view detail;
  std::string_view event_type;  // of a webhook
  std::string_view object;      // what its event is about, by the provider's name
};

// Used by one thread at a time.
class LogLine {
 public:
  // Appends the line of `entry`, without its end.
  void write(std::string& out, const LogEntry& entry);

 private:
  std::string_view time_text(Time at);

  std::chrono::sys_seconds second_;  // the one in `time_`: many lines share it
  std::string time_;                 // of the line before; empty if there was none
};

}  // namespace semel::telemetry
