// A sighting: what one request leaves behind of its key, for the timeline that operators see.
//
// Sightings are telemetry. They are gathered in bounded memory, a thread for itself, and taken away by another thread
// (gateway/scribe.h). If there is no room they are dropped and counted; nobody ever waits.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/function_ref.h"
#include "core/shape.h"
#include "telemetry/cause.h"
#include "telemetry/route_metrics.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/problem.h>

namespace semel::telemetry {

struct Sighting {
  // Most are of a whole request: an attempt, or a repeat. With the claims API a claim and its end come apart.
  enum class Step : std::uint8_t { request, claimed, ended };

  Digest id{};  // of the key
  Time at{};    // when it was answered
  std::uint64_t fence = 0;
  core::Shape shape{};
  std::chrono::nanoseconds time{0};
  std::chrono::nanoseconds upstream_time{0};
  std::uint16_t status = 0;           // that the client got
  std::uint16_t upstream_status = 0;  // 0 if there was no answer
  Ending ending = Ending::refused;
  std::optional<ProblemType> problem{};
  Cause cause = Cause::none;
  bool waited = false;  // for another caller's answer
  Step step = Step::request;
  std::string_view upstream{};  // empty if this request was not attempted
  std::string_view route{};
  std::string_view client{};
  std::string_view agent{};
};

// One thread adds, another takes.
class SightingBuffer {
 public:
  static constexpr std::size_t bytes_max = 8U << 20U;  // about 50,000 sightings

  // By the thread that adds. Allocates nothing once the buffer has the size that it needs.
  void add(const Sighting& sighting);
  // By the same thread, now and then: lets the other one have what was added. Never waits for it.
  void hand_over();

  // By the other thread: puts what there is into `taken`, whose memory is used again. Returns how many were dropped.
  std::uint64_t take(std::string& taken);

 private:
  std::string filling_;
  std::uint64_t dropped_ = 0;

  std::mutex mutex_;
  std::string handed_over_;
  std::uint64_t dropped_before_ = 0;
};

// Calls `each` for every sighting that was taken, in the order in which they were added. The texts are parts of
// `taken`.
void for_each_sighting(std::string_view taken, core::FunctionRef<void(const Sighting&)> each);

}  // namespace semel::telemetry
