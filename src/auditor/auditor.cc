// The life of an audit: whose turn it is, what came of a window, and what is kept of it.
#include "auditor/auditor.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "auditor/audit_book.h"
#include "auditor/comparison.h"
#include "auditor/effect_source.h"
#include "auditor/finding.h"
#include "auditor/window.h"
#include "auditor/window_run.h"
#include "config/audit.h"
#include "core/encoding.h"
#include "core/printable.h"
#include "core/utf8.h"
#include "reading/units.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::auditor {
namespace {

constexpr Millis lease_min{300'000};
constexpr std::size_t trouble_bytes_max = 2'048;  // of what a database or a store said

Millis lease_of(const config::AuditConfig& audit) {
  return std::max(lease_min, 4 * audit.statement_timeout);
}

// What is known of a finding beside the evidence.
void join(AuditFinding& finding, const AuditFinding& kept) {
  finding.state = kept.state;
  finding.first_seen = kept.first_seen;
  finding.last_seen = kept.last_seen;
  finding.reason = kept.reason;
  finding.who = kept.who;
  finding.acted_at = kept.acted_at;
  finding.paged = kept.paged;
}

}  // namespace

Auditor::Auditor(AuditorParts parts, std::vector<config::AuditConfig> audits)
    : parts_(std::move(parts)), audits_(std::move(audits)), book_(parts_.notes) {}

Auditor::~Auditor() {
  end();
}

Result<void> Auditor::check() {
  for (const config::AuditConfig& audit : audits_) {
    Result<EffectSource> source = EffectSource::open(parts_.clock, audit);
    Result<void> sound = source ? source->check() : Result<void>(std::unexpected(source.error()));
    if (sound) continue;
    if (sound.error().code == Code::invalid)
      return fail(Code::invalid, "audit " + audit.name + ": " + sound.error().detail);
    parts_.say(fmt::format("audit {}: its database cannot be asked now: {}", audit.name, sound.error().detail));
  }
  return {};
}

void Auditor::start() {
  threads_.reserve(audits_.size());
  for (const config::AuditConfig& audit : audits_) threads_.emplace_back([this, &audit] { follow(audit); });
}

void Auditor::end() {
  {
    const std::scoped_lock lock(shared_.mutex);
    stop_ = true;
    for (const auto& [number, cancel] : shared_.cancels) cancel();
  }
  shared_.wake.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  std::unique_lock lock(shared_.mutex);
  shared_.wake.wait(lock, [&] { return shared_.working == 0; });
}

Result<void> Auditor::work(const std::function<void()>& what) {
  {
    const std::scoped_lock lock(shared_.mutex);
    if (stop_) return fail(Code::unavailable, "the gateway is stopping");
    ++shared_.working;
  }
  what();
  const std::scoped_lock lock(shared_.mutex);
  --shared_.working;
  shared_.wake.notify_all();
  return {};
}

void Auditor::follow(const config::AuditConfig& audit) {
  refresh(audit);  // what is known from before is shown while the first window is looked at
  while (!stop_) {
    const bool ours = take_turn(audit);
    if (!stop_) refresh(audit);
    const Millis nap = nap_before_window(audit, ours);
    std::unique_lock lock(shared_.mutex);
    shared_.wake.wait_for(lock, nap, [&] { return stop_.load(); });
  }
}

bool Auditor::take_turn(const config::AuditConfig& audit) {
  Result<KeptStatus> kept = book_.status(audit.name);
  if (!kept) return false;  // the store says so itself
  const Time now = parts_.clock.wall();
  AuditStatus& status = kept->status;
  const bool held = status.held_until > now && status.holder != parts_.node;
  if (held || !is_window_due(audit, status.begun, now)) return false;
  status.holder = parts_.node;
  status.held_until = now + lease_of(audit);
  status.begun = now;
  if (status.since == Time{}) status.since = now;
  if (!book_.write(audit.name, *kept)) return false;  // another gateway was quicker
  const Result<AuditOutcome> outcome =
      look(audit, status.progress, {.audit = audit.name, .span = {}, .by_hand = false});
  if (stop_ && !outcome) return true;  // the lease runs out, or is ours when we are back
  keep(audit, *std::move(kept), outcome);
  return true;
}

Result<AuditOutcome> Auditor::look(const config::AuditConfig& audit, const AuditProgress& progress,
                                   const AuditAsked& asked) {
  const std::chrono::nanoseconds begun = parts_.clock.stopwatch();
  Result<EffectSource> source = EffectSource::open(parts_.clock, audit);
  if (!source) return std::unexpected(std::move(source.error()));
  std::size_t number = 0;
  {
    const std::scoped_lock lock(shared_.mutex);
    if (stop_) return fail(Code::unavailable, "the gateway is stopping");
    number = shared_.next_cancel++;
    shared_.cancels[number] = source->canceller();
  }
  const auto within = [&]() -> Result<AuditOutcome> {
    if (Result<void> sound = source->check(); !sound) return std::unexpected(std::move(sound.error()));
    const Result<SourceStanding> standing = source->standing();
    if (!standing) return std::unexpected(standing.error());
    if (standing->lag > audit.settle) {
      return fail(Code::unavailable,
                  fmt::format("the replica is {} behind, more than settle ({}): the window waits",
                              reading::duration_text(std::chrono::ceil<std::chrono::seconds>(standing->lag)),
                              reading::duration_text(audit.settle)));
    }
    const Time now = standing->now;
    const AuditWindow window =
        asked.span ? window_of(audit, asked.span->from, asked.span->to, now) : next_window(audit, progress, now);
    RunControl control{.stop = stop_};
    if (!asked.by_hand) {
      control.known = [this](const std::string& id, std::uint64_t effects) {
        const auto kept = book_.find(id);
        return kept && *kept && (*kept)->effects >= effects;
      };
    }
    control.missed = missed_by(audit);
    Result<WindowReport> report = run_window(parts_.keys, *source, audit, window, control);
    if (!report) return std::unexpected(std::move(report.error()));
    return AuditOutcome{.report = *std::move(report), .took = {}, .lag = standing->lag};
  };
  Result<AuditOutcome> outcome = within();
  const std::scoped_lock lock(shared_.mutex);
  shared_.cancels.erase(number);
  if (outcome) outcome->took = std::chrono::duration_cast<Millis>(parts_.clock.stopwatch() - begun);
  return outcome;
}

void Auditor::keep(const config::AuditConfig& audit, KeptStatus kept, const Result<AuditOutcome>& outcome) {
  AuditStatus& status = kept.status;
  const bool was_blind = status.blind;
  const std::string before = status.trouble;
  status.trouble = outcome ? std::string() : outcome.error().detail;
  if (outcome) {
    const WindowReport& report = outcome->report;
    status.blind = report.blind;
    status.effects = report.effects;
    status.keys = report.keys;
    status.suspects = report.suspects;
    status.took_ms = static_cast<std::uint64_t>(outcome->took.count());
    status.lag_ms = static_cast<std::uint64_t>(outcome->lag.count());
    std::vector<AuditFinding> findings = report.findings;
    const Result<std::size_t> recorded = record(findings);
    close_those_that_came(audit, report.came);
    if (!recorded) status.trouble = "what was found cannot be kept: " + recorded.error().detail;
    if (report.blind) status.trouble = "blind: the comparison does not see a duplicate that was planted in it";
    if (recorded && !report.blind) {
      status.progress.judged_to = report.window.settled;
      status.judged = parts_.clock.wall();
      if (report.window.wide) status.progress.wide_at = report.window.to;
      if (report.window.wide) status.progress.wide_took = outcome->took;
    }
  }
  const bool odd = status.trouble.size() > trouble_bytes_max || !core::is_utf8(status.trouble);
  if (odd) status.trouble = core::printable(status.trouble, trouble_bytes_max);
  status.holder.clear();
  status.held_until = {};
  status.ended = parts_.clock.wall();
  if (status.trouble != before) {
    parts_.say(fmt::format("audit {}: {}", audit.name, status.trouble.empty() ? "judges again" : status.trouble));
  }
  const AuditStatus now = status;
  if (!book_.write(audit.name, kept)) {
    parts_.say(fmt::format("audit {}: another gateway has taken the window over; it is judged there", audit.name));
  }
  if (now.blind && !was_blind) page_blind(audit, now);
  page(audit);
}

// A finding that is kept already stays as it is, unless its key has got more effects since.
Result<std::size_t> Auditor::record(std::vector<AuditFinding>& findings) {
  std::size_t not_closed = 0;
  const Time now = parts_.clock.wall();
  for (AuditFinding& finding : findings) {
    const auto change = [&](const std::optional<AuditFinding>& kept) -> std::optional<AuditFinding> {
      if (kept && kept->effects >= finding.effects) {
        join(finding, *kept);
        return std::nullopt;
      }
      finding.first_seen = kept ? kept->first_seen : now;
      finding.last_seen = now;
      if (kept) finding.paged = kept->paged;
      if (!kept || kept->state == FindingState::closed) {
        parts_.say(fmt::format("audit {}: {} {}, {} effect(s)", finding.audit, name(finding.kind), finding.id,
                               finding.effects));
      }
      return finding;
    };
    if (Result<void> changed = book_.change(finding.id, change); !changed) return std::unexpected(changed.error());
    if (finding.state != FindingState::closed) ++not_closed;
  }
  return not_closed;
}

Result<void> Auditor::look_up(std::vector<AuditFinding>& findings) {
  const Time now = parts_.clock.wall();
  for (AuditFinding& finding : findings) {
    const Result<std::optional<AuditFinding>> kept = book_.find(finding.id);
    if (!kept) return std::unexpected(kept.error());
    finding.first_seen = finding.last_seen = now;
    if (const std::optional<AuditFinding>& known = *kept) join(finding, *known);
  }
  return {};
}

std::vector<std::string> Auditor::missed_by(const config::AuditConfig& audit) {
  std::vector<std::string> ids;
  const auto open = book_.list({.audit = audit.name, .state = std::nullopt, .kind = AuditKind::missing}, described_max);
  if (!open) return ids;  // they are looked for the next time
  for (const AuditFinding& finding : *open) {
    if (finding.state != FindingState::closed && !finding.keys.empty()) ids.push_back(finding.keys.front().id);
  }
  return ids;
}

void Auditor::close_those_that_came(const config::AuditConfig& audit, const std::vector<std::string>& came) {
  for (const std::string& key : came) {
    Digest id{};
    const std::string bytes = core::from_hex(key).value_or("");
    if (bytes.size() == id.size()) std::ranges::copy(bytes, id.begin());
    const auto close = [&](const std::optional<AuditFinding>& kept) -> std::optional<AuditFinding> {
      if (!kept || kept->state == FindingState::closed) return std::nullopt;
      AuditFinding next = *kept;
      next.state = FindingState::closed;
      next.reason = "its effect was seen later";
      next.who = "the audit itself";
      next.acted_at = parts_.clock.wall();
      return next;
    };
    static_cast<void>(book_.change(finding_id(audit.name, AuditKind::missing, id), close));
  }
}

Result<AuditOutcome> Auditor::run_now(const AuditAsked& asked) {
  const auto found = std::ranges::find(audits_, asked.audit, &config::AuditConfig::name);
  if (found == audits_.end()) return fail(Code::invalid, "there is no [[audit]] with the name " + asked.audit);
  if (asked.span && asked.span->from >= asked.span->to) return fail(Code::invalid, "from: must be before to");
  const Result<KeptStatus> kept = book_.status(found->name);
  if (!kept) return std::unexpected(kept.error());
  Result<AuditOutcome> outcome = look(*found, kept->status.progress, asked);
  if (!outcome) return outcome;
  if (asked.test || outcome->report.blind) {
    if (Result<void> known = look_up(outcome->report.findings); !known) return std::unexpected(known.error());
    return outcome;
  }
  const Result<std::size_t> recorded = record(outcome->report.findings);
  if (!recorded) return std::unexpected(recorded.error());
  outcome->not_closed = *recorded;
  page(*found);
  refresh(*found);
  return outcome;
}

Async<AuditOutcome> Auditor::run(AuditAsked asked) {
  Result<AuditOutcome> outcome = fail(Code::unavailable, "not run");
  const auto look_now = [&] { outcome = run_now(asked); };
  const auto aside = [&] {
    if (Result<void> worked = work(look_now); !worked) outcome = std::unexpected(std::move(worked.error()));
  };
  co_await runs_.run(aside);
  co_return outcome;
}

}  // namespace semel::auditor
