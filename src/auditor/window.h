// Which piece of time an audit looks at next. Pure; all times are those of the audited database.
//
//   ─────────┬───────────────┬──────────────┬────────▶ time
//         judged_to        settled         now
//   near window: from a little before judged_to up to now; every `every`
//   wide window: from `overlap` before judged_to up to now; as often as a hundredth of the time allows
//
// Effects are judged up to `settled`; younger ones are looked at for duplicates only. `judged_to` moves only when a
// window has been judged, so one that failed is part of the next.
#pragma once

#include <optional>

#include "config/audit.h"
#include <semel/clock.h>

namespace semel::auditor {

inline constexpr int wide_share = 100;  // a wide window costs at most this part of the time

// How far an audit has come.
struct AuditProgress {
  std::optional<Time> judged_to;  // none: nothing has been judged yet
  Time wide_at{};                 // when the last wide window was begun
  Millis wide_took{0};
};

struct AuditWindow {
  Time from;
  Time to;
  Time settled;       // effects from here on are young
  Time missing_from;  // keys that were claimed between this and `settled` should have an effect in the window
  bool wide = false;
};

// Whether the next window is due, if the last one was begun at `begun`. Times of the gateway.
bool is_window_due(const config::AuditConfig& audit, Time begun, Time now);

// How long a gateway waits before it looks again whether one is due. `ours`: it has just judged one.
Millis nap_before_window(const config::AuditConfig& audit, bool ours);

AuditWindow next_window(const config::AuditConfig& audit, const AuditProgress& progress, Time now);

// The window that somebody asked for.
AuditWindow window_of(const config::AuditConfig& audit, Time from, Time to, Time now);

}  // namespace semel::auditor
