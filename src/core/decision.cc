#include "core/decision.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>

#include "core/check.h"
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/once.h>
#include <semel/problem.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::core {
namespace {

constexpr Millis retry_after_min{1'000};  // Retry-After counts whole seconds
constexpr Millis retry_after_max{5'000};

// As long again as it has been running: most attempts end within a second or so, and one that does not is not asked for
// every second. The rest of the lease does not tell this, because a living holder renews it.
Millis advice(const Held& held) {
  const Time now = held.record.lease_until - held.lease_left;
  const Millis running_for = now - held.record.claimed_at;
  return std::clamp(std::min(running_for, held.lease_left), retry_after_min, retry_after_max);
}

Decision reject(ProblemType type, Millis retry_after = Millis{0}) {
  return Reject{.problem = Problem::of(type), .retry_after = retry_after};
}

Decision decide_unknown(const Record& record, const Policy& policy) {
  if (policy.on_unknown == Policy::OnUnknown::probe) return Ask{.fence = record.fence};
  Reject rejected{.problem = Problem::of(ProblemType::outcome_unknown), .retry_after = Millis{0}};
  if (policy.on_unknown == Policy::OnUnknown::retry) {
    rejected.problem.retry = Problem::Retry::same_key;
    rejected.retry_after = retry_after_min;
  }
  return rejected;
}

}  // namespace

Terms terms_of(const Policy& policy, std::uint64_t owner, SharedOrder order) {
  return {.lease = policy.lease,
          .ttl = policy.ttl,
          .lapsed = policy.on_unknown == Policy::OnUnknown::retry ? Terms::Lapsed::taken_over : Terms::Lapsed::stands,
          .owner = owner,
          .order = std::move(order)};
}

Decision decide(const Claim& claim, const Fingerprint& fingerprint, const Policy& policy) {
  if (const auto* granted = std::get_if<Granted>(&claim)) {
    return Run{.fence = granted->fence, .expires_at = granted->expires_at};
  }
  if (std::holds_alternative<Superseded>(claim)) return Superseded{};
  if (const auto* busy = std::get_if<Busy>(&claim)) {
    if (policy.in_flight == Policy::InFlight::conflict) return reject(ProblemType::in_flight, advice(busy->other));
    return Wait{.lease_left = busy->other.lease_left, .other = busy->other.record.key.id};
  }
  const auto& held = std::get<Held>(claim);
  const Record& record = held.record;
  if (record.fingerprint != fingerprint) {
    return Reject{
        .problem = Problem::of(ProblemType::key_reused), .retry_after = Millis{0}, .holder = record.fingerprint};
  }
  switch (record.state) {
    case Record::State::done:
      return Replay{
          .response = record.response, .fence = record.fence, .expires_at = record.expires_at, .left = held.left};
    case Record::State::running:
      if (policy.in_flight == Policy::InFlight::wait) return Wait{.lease_left = held.lease_left};
      return reject(ProblemType::in_flight, advice(held));
    case Record::State::unknown:
      return decide_unknown(record, policy);
    case Record::State::released:  // by this owner, before its claim arrived: another one may have it
      return reject(ProblemType::in_flight, advice(held));
    case Record::State::object:
      break;
  }
  check(false, "an object is no key");
  return reject(ProblemType::record_corrupt);
}

Refused refused_by(const Error& error) {
  const bool damaged = error.code == Code::corrupt;
  return {.problem = Problem::of(damaged ? ProblemType::record_corrupt : ProblemType::store_unavailable),
          .retry_after = damaged ? Millis{0} : retry_after_min,
          .detail = error.detail};
}

}  // namespace semel::core
