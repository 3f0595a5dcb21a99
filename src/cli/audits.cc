// Audits are made when the store and the gateway are there, and ended before them.
#include "cli/audits.h"

#include <expected>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "auditor/auditor.h"
#include "auditor/effect_source.h"
#include "cli/audit_pages.h"
#include "config/audit.h"
#include "config/config.h"
#include "core/printable.h"
#include "gateway/gateway.h"
#include "gateway/scribe.h"
#include "reading/issue.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::cli {

Result<std::unique_ptr<auditor::Auditor>> open_audits(const config::Config& config, const AuditedStore& store,
                                                      gateway::Gateway& gateway, Clock& clock) {
  if (config.audits.empty()) return std::unique_ptr<auditor::Auditor>();
  if (store.lookup == nullptr || store.notes == nullptr) {
    return fail(Code::invalid, "[[audit]] needs the embedded store or PostgreSQL: this store keeps no findings");
  }
  auditor::AuditorParts parts{
      .clock = clock,
      .keys = {.lookup = *store.lookup, .desk = store.desk, .history = store.history, .roll = store.roll},
      .notes = *store.notes,
      .node = gateway::node_name(),
      .say = [](const std::string& line) { fmt::print(stderr, "semel: {}\n", core::printable(line)); },
      .page = audit_pages(gateway.dispatcher()),
  };
  auto made = std::make_unique<auditor::Auditor>(std::move(parts), config.audits);
  if (Result<void> sound = made->check(); !sound) return std::unexpected(std::move(sound.error()));
  return made;
}

bool check_audits(const config::Config& config, const std::string& path, const Clock& clock) {
  bool sound = true;
  for (const config::AuditConfig& audit : config.audits) {
    Result<auditor::EffectSource> source = auditor::EffectSource::open(clock, audit);
    const Result<void> checked = source ? source->check() : Result<void>(std::unexpected(source.error()));
    if (checked) {
      fmt::print("  audit {}: its database takes the query, and the role cannot write\n", audit.name);
      continue;
    }
    const bool wrong = checked.error().code == Code::invalid;
    const reading::Issue issue{
        .severity = wrong ? reading::Severity::error : reading::Severity::warning,
        .file = path,
        .at = audit.query_at.at,
        .message =
            wrong ? checked.error().detail
                  : "the database of the audit " + audit.name +
                        " cannot be asked, so its query and its role were not looked at: " + checked.error().detail,
        .suggestion = {}};
    fmt::print(stderr, "{}\n", reading::to_text(issue));
    sound = sound && !wrong;
  }
  return sound;
}

}  // namespace semel::cli
