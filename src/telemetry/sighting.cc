// A sighting is copied behind the others in one piece of memory, and read back in the same order.
#include "telemetry/sighting.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "core/function_ref.h"
#include "core/shape.h"
#include "telemetry/cause.h"
#include "telemetry/route_metrics.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/problem.h>

namespace semel::telemetry {
namespace {

constexpr std::size_t text_bytes_max = 120;  // so that one sighting stays small, whatever a client sends
constexpr std::uint8_t no_problem = 0xff;

// A sighting in memory; its four texts follow.
struct Packed {
  Digest id;
  Time at;
  std::uint64_t fence;
  core::Shape shape;
  std::chrono::nanoseconds time;
  std::chrono::nanoseconds upstream_time;
  std::uint16_t status;
  std::uint16_t upstream_status;
  Ending ending;
  std::uint8_t problem;
  Cause cause;
  bool waited;
  Sighting::Step step;
  std::uint8_t upstream_size;
  std::uint8_t route_size;
  std::uint8_t client_size;
  std::uint8_t agent_size;
};

std::string_view shortened(std::string_view text) {
  return text.substr(0, text_bytes_max);
}

std::uint8_t size_of(std::string_view text) {
  return static_cast<std::uint8_t>(std::min(text.size(), text_bytes_max));
}

}  // namespace

void SightingBuffer::add(const Sighting& sighting) {
  if (filling_.size() > bytes_max) {
    ++dropped_;
    return;
  }
  const Packed packed{
      .id = sighting.id,
      .at = sighting.at,
      .fence = sighting.fence,
      .shape = sighting.shape,
      .time = sighting.time,
      .upstream_time = sighting.upstream_time,
      .status = sighting.status,
      .upstream_status = sighting.upstream_status,
      .ending = sighting.ending,
      .problem = sighting.problem ? static_cast<std::uint8_t>(*sighting.problem) : no_problem,
      .cause = sighting.cause,
      .waited = sighting.waited,
      .step = sighting.step,
      .upstream_size = size_of(sighting.upstream),
      .route_size = size_of(sighting.route),
      .client_size = size_of(sighting.client),
      .agent_size = size_of(sighting.agent),
  };
  std::array<char, sizeof(Packed)> bytes{};
  std::memcpy(bytes.data(), &packed, sizeof(Packed));
  filling_.append(bytes.data(), bytes.size());
  filling_.append(shortened(sighting.upstream));
  filling_.append(shortened(sighting.route));
  filling_.append(shortened(sighting.client));
  filling_.append(shortened(sighting.agent));
}

void SightingBuffer::hand_over() {
  if (filling_.empty() && dropped_ == 0) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;  // at the next time, then
  if (handed_over_.empty()) {
    std::swap(handed_over_, filling_);
  } else if (handed_over_.size() + filling_.size() <= bytes_max) {
    handed_over_.append(filling_);
    filling_.clear();
  }
  dropped_before_ += std::exchange(dropped_, 0);
}

std::uint64_t SightingBuffer::take(std::string& taken) {
  taken.clear();
  const std::scoped_lock lock(mutex_);
  std::swap(taken, handed_over_);
  return std::exchange(dropped_before_, 0);
}

void for_each_sighting(std::string_view taken, core::FunctionRef<void(const Sighting&)> each) {
  while (taken.size() >= sizeof(Packed)) {
    Packed packed{};
    std::memcpy(&packed, taken.data(), sizeof(Packed));
    taken.remove_prefix(sizeof(Packed));
    const auto text = [&taken](std::size_t size) {
      const std::string_view found = taken.substr(0, size);
      taken.remove_prefix(found.size());
      return found;
    };
    Sighting sighting{.id = packed.id,
                      .at = packed.at,
                      .fence = packed.fence,
                      .shape = packed.shape,
                      .time = packed.time,
                      .upstream_time = packed.upstream_time,
                      .status = packed.status,
                      .upstream_status = packed.upstream_status,
                      .ending = packed.ending,
                      .cause = packed.cause,
                      .waited = packed.waited,
                      .step = packed.step};
    if (packed.problem != no_problem) sighting.problem = static_cast<ProblemType>(packed.problem);
    sighting.upstream = text(packed.upstream_size);
    sighting.route = text(packed.route_size);
    sighting.client = text(packed.client_size);
    sighting.agent = text(packed.agent_size);
    each(sighting);
  }
}

}  // namespace semel::telemetry
