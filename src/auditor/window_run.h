// One window of an audit: the effects are read, compared with the keys, and what does not fit is described.
//
//   snapshot ─▶ rows, a share of the keys at a time ─▶ Comparison ─▶ look-ups ─▶ suspects ─▶ evidence ─▶ findings
//
// Each share is compared twice: with a duplicate that was planted in what the database returned, and without. If that
// does not show as exactly one more duplicate, the audit is blind, and nothing that it says counts.
//
// It waits for the database and the store, so it runs on a thread that may.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "auditor/comparison.h"
#include "auditor/effect_source.h"
#include "auditor/finding.h"
#include "auditor/key_look.h"
#include "auditor/window.h"
#include "config/audit.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::auditor {

// How the comparison is judged; a test may give one that is broken.
using Judge = std::function<std::vector<Suspect>(const Comparison&, std::span<const KeyState>, Time settled)>;

struct RunControl {
  const std::atomic<bool>& stop;
  // Whether a finding with so many effects is kept already: then it is counted, and not described again.
  std::function<bool(const std::string& id, std::uint64_t effects)> known{};
  Judge judge{};                      // that of the comparison, if it is empty
  std::vector<std::string> missed{};  // keys whose effects were missing: their ids in hexadecimal
};

struct WindowReport {
  AuditWindow window;
  std::uint64_t effects = 0;
  std::uint64_t keys = 0;
  std::uint32_t shares = 1;
  bool blind = false;
  std::array<std::uint64_t, finding_kinds> suspects{};  // by kind: all of them
  std::vector<std::string> came;                        // of those that were missed
  std::vector<AuditFinding> findings;                   // that are not known; at most described_max of a kind
};

inline constexpr std::size_t described_max = 1'000;
inline constexpr std::size_t evidence_rows_max = 10;  // of a finding
inline constexpr Millis equal_value_span{600'000};

// `source` has been checked. Code::unavailable: the database or the store did not answer, or the run was stopped.
// Code::invalid: the query returns an effect more than once.
Result<WindowReport> run_window(const KeySources& keys, EffectSource& source, const config::AuditConfig& audit,
                                const AuditWindow& window, const RunControl& control);

}  // namespace semel::auditor
