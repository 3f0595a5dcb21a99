// Which requests the doctor is told of, so that the others cost next to nothing: those that did not go well, all of a
// scope that something was odd about, and a sample.
//
// The sample is by what the rules compare: of two requests with one fingerprint, or one key text, either both are in it
// or none. All threads read this, and set what they find odd; nothing here locks.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "telemetry/doctor_note.h"
#include "telemetry/tally.h"

namespace semel::telemetry {

class DoctorWatch {
 public:
  enum class Interest : std::uint8_t {
    none,
    sampled,     // by its key or its text
    by_request,  // with all that are like it
  };

  [[nodiscard]] Interest interest_in(const RequestTraits& traits) const {
    if (watched(traits.scope)) return Interest::by_request;
    const std::uint64_t mask = mask_.load(std::memory_order_relaxed);
    if ((traits.fingerprint & mask) == 0) return Interest::by_request;
    const bool sampled = (traits.text & mask) == 0 || (traits.key & late_mask_.load(std::memory_order_relaxed)) == 0;
    return sampled ? Interest::sampled : Interest::none;
  }

  [[nodiscard]] bool watched(std::uint64_t scope) const {
    const std::uint64_t word = scopes_[word_of(scope)].load(std::memory_order_relaxed);
    return (word & bit_of(scope)) != 0;
  }
  void watch(std::uint64_t scope) { scopes_[word_of(scope)].fetch_or(bit_of(scope), std::memory_order_relaxed); }
  void forget_scopes() {
    for (auto& word : scopes_) word.store(0, std::memory_order_relaxed);
  }

  // One in mask + 1 is in the sample.
  [[nodiscard]] std::uint64_t mask() const { return mask_.load(std::memory_order_relaxed); }
  void set_mask(std::uint64_t mask) { mask_.store(mask, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t late_mask() const { return late_mask_.load(std::memory_order_relaxed); }
  void set_late_mask(std::uint64_t mask) { late_mask_.store(mask, std::memory_order_relaxed); }

 private:
  static constexpr std::size_t words = 256;  // 16,384 scopes; two that share a bit are watched together
  static std::size_t word_of(std::uint64_t scope) { return (scope >> 6U) % words; }
  static std::uint64_t bit_of(std::uint64_t scope) { return std::uint64_t{1} << (scope & 63U); }

  std::array<std::atomic<std::uint64_t>, words> scopes_{};
  std::atomic<std::uint64_t> mask_{0};
  std::atomic<std::uint64_t> late_mask_{0};
};

// Whether all that comes of its scope is to be looked at from now on.
inline bool is_odd(TallyOutcome outcome, std::uint16_t status) {
  return status == 0 || status == 409 || status == 422 || status == 429 || status >= 500 ||
         outcome == TallyOutcome::unknown || outcome == TallyOutcome::key_reused ||
         outcome == TallyOutcome::would_refuse;
}

}  // namespace semel::telemetry
