// How often the configuration was read again, and when it last was.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace semel::telemetry {

// May be used from any thread.
class Reloads {
 public:
  // `now` in seconds since 1970. The start counts as a success, but not as a reload.
  explicit Reloads(std::int64_t now) : last_success_(now) {}

  void succeeded(std::int64_t now);
  void failed();
  void render(std::string& out) const;

 private:
  std::atomic<std::uint64_t> succeeded_{0};
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<bool> last_failed_{false};
  std::atomic<std::int64_t> last_success_;
};

}  // namespace semel::telemetry
