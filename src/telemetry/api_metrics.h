// What an operator can count of each token of the claims API.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace semel::telemetry {

// Counters of one token, by the call and by its outcome.
struct ApiCounters {
  static constexpr std::array<std::string_view, 5> calls{"claim", "renew", "complete", "release", "get"};
  static constexpr std::array<std::string_view, 13> outcomes{"granted",    "done",   "running", "unknown", "key-reused",
                                                             "superseded", "busy",   "free",    "renewed", "completed",
                                                             "released",   "fenced", "refused"};

  explicit ApiCounters(std::string token) : name(std::move(token)) {}
  std::string name;
  std::array<std::array<std::atomic<std::uint64_t>, outcomes.size()>, calls.size()> items{};
};

class ApiMetrics {
 public:
  // A token keeps its counters over reloads as long as its name stays the same. The reference is valid as long as this.
  ApiCounters& token(std::string_view name);

  std::atomic<std::uint64_t> strangers{0};  // requests without a token that is known

  void render(std::string& out) const;

 private:
  mutable std::mutex mutex_;  // of the list, not of what is counted
  std::deque<ApiCounters> tokens_;
};

}  // namespace semel::telemetry
