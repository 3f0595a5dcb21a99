#include "auditor/window.h"

#include <algorithm>

#include "config/audit.h"
#include <semel/clock.h>

namespace semel::auditor {
namespace {

constexpr Millis nap_max{5'000};
constexpr Millis nap_min{200};

}  // namespace

// A moment in the future is that of a clock that was set back since.
bool is_window_due(const config::AuditConfig& audit, Time begun, Time now) {
  return now >= begun + audit.every || begun > now + audit.every;
}

Millis nap_before_window(const config::AuditConfig& audit, bool ours) {
  return std::clamp(ours ? audit.every / 10 : audit.every / 4, nap_min, nap_max);
}

// The near window begins so early that keys that were claimed just before `judged_to` are judged with all their
// effects, by clocks that differ by up to `settle`.
AuditWindow next_window(const config::AuditConfig& audit, const AuditProgress& progress, Time now) {
  AuditWindow window{.from = {}, .to = now, .settled = now - audit.settle, .missing_from = {}};
  const Time known = std::min(progress.judged_to.value_or(window.settled), window.settled);
  const Time next_wide = progress.wide_at + std::max(audit.every, wide_share * progress.wide_took);
  window.wide = !progress.judged_to || now >= next_wide;
  window.missing_from = known - audit.every;
  const Time near = window.missing_from - audit.settle;
  window.from = window.wide ? std::min(near, known - audit.overlap) : near;
  return window;
}

AuditWindow window_of(const config::AuditConfig& audit, Time from, Time to, Time now) {
  const Time settled = std::min(to, now - audit.settle);
  return {.from = from, .to = to, .settled = settled, .missing_from = from + audit.settle, .wide = true};
}

}  // namespace semel::auditor
