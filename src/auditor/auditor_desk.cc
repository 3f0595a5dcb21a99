// What the auditor shows and tells: its findings, figures and pages.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "auditor/audit_book.h"
#include "auditor/auditor.h"
#include "auditor/comparison.h"
#include "auditor/finding.h"
#include "config/audit.h"
#include "core/json/writer.h"
#include "runtime/failpoint.h"
#include "telemetry/exposition.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::auditor {
namespace {

constexpr std::size_t findings_max = 10'000;  // that are looked at for figures and pages
constexpr std::chrono::days closed_kept{30};
constexpr std::array kinds{AuditKind::duplicate, AuditKind::missing, AuditKind::ghost, AuditKind::orphan,
                           AuditKind::duplicate_value};

}  // namespace

void Auditor::page_blind(const config::AuditConfig& audit, const AuditStatus& status) {
  if (audit.page_to.empty() || !parts_.page) return;
  std::string body;
  core::json::JsonWriter(body)
      .begin_object()
      .text("audit", audit.name)
      .text("kind", "blind")
      .text("detail", "the audit does not see a duplicate that was planted in it: nothing that it says counts")
      .text("at", audit_time(status.begun))
      .text("node", parts_.node)
      .end_object();
  const std::string key = fmt::format("{}/blind/{}", audit.name, status.begun.time_since_epoch().count());
  const Result<void> sent = parts_.page({.to = audit.page_to, .key = key, .body = std::move(body)});
  if (!sent) parts_.say(fmt::format("audit {}: nobody could be paged: {}", audit.name, sent.error().detail));
}

// The page is accepted before the finding says so: what is cut off in between is sent again under the same key, and so
// goes out once.
void Auditor::page(const config::AuditConfig& audit) {
  if (audit.page_to.empty() || !parts_.page) return;
  const Result<std::vector<AuditFinding>> open =
      book_.list({.audit = audit.name, .state = FindingState::open, .kind = AuditKind::duplicate}, findings_max);
  if (!open) return;
  for (const AuditFinding& finding : *open) {
    if (finding.paged >= finding.effects) continue;
    const std::string key = fmt::format("{}/{}", finding.id, finding.effects);
    const Result<void> sent = parts_.page({.to = audit.page_to, .key = key, .body = finding_json(finding)});
    if (!sent) {
      parts_.say(fmt::format("audit {}: nobody could be paged yet: {}", audit.name, sent.error().detail));
      return;
    }
    runtime::failpoint("audit-paged");
    const auto paged = [&](const std::optional<AuditFinding>& kept) -> std::optional<AuditFinding> {
      if (!kept || kept->paged >= finding.effects) return std::nullopt;
      AuditFinding next = *kept;
      next.paged = finding.effects;
      return next;
    };
    static_cast<void>(book_.change(finding.id, paged));
  }
}

// Also forgets what was closed long ago.
void Auditor::refresh(const config::AuditConfig& audit) {
  const Result<KeptStatus> kept = book_.status(audit.name);
  const Result<std::vector<AuditFinding>> all =
      book_.list({.audit = audit.name, .state = std::nullopt, .kind = std::nullopt}, findings_max);
  if (!kept || !all) return;
  const Time now = parts_.clock.wall();
  Figures figures;
  figures.judged_to = kept->status.progress.judged_to;
  if (!figures.judged_to && kept->status.since != Time{}) figures.judged_to = kept->status.since;
  figures.blind = kept->status.blind;
  for (const AuditFinding& finding : *all) {
    const bool closed = finding.state == FindingState::closed;
    if (!closed) ++figures.open[finding.kind];
    if (finding.kind == AuditKind::duplicate && finding.first_seen > now - std::chrono::days{1}) {
      ++figures.duplicates_last_day;
    }
    const bool old = finding.acted_at.value_or(now) < now - closed_kept - audit.overlap;
    if (closed && old) static_cast<void>(book_.drop(finding.id));
  }
  const std::scoped_lock lock(shared_.mutex);
  shared_.figures[audit.name] = std::move(figures);
}

void Auditor::render(std::string& out) const {
  if (audits_.empty()) return;
  const std::scoped_lock lock(shared_.mutex);
  const Time now = parts_.clock.wall();
  const auto of = [&](const config::AuditConfig& audit) {
    const auto found = shared_.figures.find(audit.name);
    return found == shared_.figures.end() ? Figures{} : found->second;
  };
  const auto named = [](const char* metric, const config::AuditConfig& audit) {
    return fmt::format("{}{{audit=\"{}\"}}", metric, audit.name);
  };
  telemetry::heading(out, "semel_audit_findings", "gauge", "Findings of an audit that nobody has closed, by kind.");
  for (const config::AuditConfig& audit : audits_) {
    Figures figures = of(audit);
    for (const AuditKind kind : kinds) {
      telemetry::sample(out, fmt::format("semel_audit_findings{{audit=\"{}\",kind=\"{}\"}}", audit.name, name(kind)),
                        figures.open[kind]);
    }
  }
  telemetry::heading(out, "semel_audit_age_seconds", "gauge",
                     "How long ago the newest moment is up to which an audit has judged all effects.");
  for (const config::AuditConfig& audit : audits_) {
    const std::optional<Time> judged_to = of(audit).judged_to;
    if (!judged_to) continue;  // the store has not been asked yet
    const Millis age = now - *judged_to;
    telemetry::sample(out, named("semel_audit_age_seconds", audit),
                      std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::seconds>(age).count(), 0));
  }
  telemetry::heading(out, "semel_audit_blind", "gauge",
                     "1 if an audit did not see the duplicate that was planted in it: nothing that it says counts.");
  for (const config::AuditConfig& audit : audits_) {
    telemetry::sample(out, named("semel_audit_blind", audit), of(audit).blind ? 1 : 0);
  }
  telemetry::heading(out, "semel_audit_duplicates_last_day", "gauge",
                     "Keys with two effects or more that were first seen in the last 24 hours. Should be 0.");
  for (const config::AuditConfig& audit : audits_) {
    telemetry::sample(out, named("semel_audit_duplicates_last_day", audit), of(audit).duplicates_last_day);
  }
}

Async<std::vector<AuditView>> Auditor::view() {
  Result<std::vector<AuditView>> views;
  const auto look_now = [&] {
    for (const config::AuditConfig& audit : audits_) {
      const Result<KeptStatus> kept = book_.status(audit.name);
      if (!kept) views = std::unexpected(kept.error());
      if (!views) return;
      views->push_back({.config = &audit, .status = kept->status});
    }
  };
  const auto aside = [&] {
    if (Result<void> worked = work(look_now); !worked) views = std::unexpected(std::move(worked.error()));
  };
  co_await desk_.run(aside);
  co_return views;
}

Async<std::vector<AuditFinding>> Auditor::list(FindingFilter filter, std::size_t limit) {
  Result<std::vector<AuditFinding>> found;
  const auto look_now = [&] { found = book_.list(filter, limit); };
  const auto aside = [&] {
    if (Result<void> worked = work(look_now); !worked) found = std::unexpected(std::move(worked.error()));
  };
  co_await desk_.run(aside);
  co_return found;
}

Async<std::optional<AuditFinding>> Auditor::find(std::string id) {
  Result<std::optional<AuditFinding>> found;
  const auto look_now = [&] { found = book_.find(id); };
  const auto aside = [&] {
    if (Result<void> worked = work(look_now); !worked) found = std::unexpected(std::move(worked.error()));
  };
  co_await desk_.run(aside);
  co_return found;
}

Async<AuditFinding> Auditor::act(std::string id, FindingState state, std::string reason, std::string who) {
  Result<AuditFinding> done = fail(Code::fenced, "there is no such finding, or it is closed already");
  const auto change = [&](const std::optional<AuditFinding>& kept) -> std::optional<AuditFinding> {
    if (!kept || kept->state == FindingState::closed) return std::nullopt;
    AuditFinding next = *kept;
    next.state = state;
    next.reason = reason;
    next.who = who;
    next.acted_at = parts_.clock.wall();
    done = next;
    return next;
  };
  const auto act_now = [&] {
    const Result<void> changed = book_.change(id, change);
    if (!changed) done = std::unexpected(changed.error());
    if (!done) return;
    const auto audit = std::ranges::find(audits_, done->audit, &config::AuditConfig::name);
    if (audit != audits_.end()) refresh(*audit);
  };
  const auto aside = [&] {
    if (Result<void> worked = work(act_now); !worked) done = std::unexpected(std::move(worked.error()));
  };
  co_await desk_.run(aside);
  co_return done;
}

}  // namespace semel::auditor
