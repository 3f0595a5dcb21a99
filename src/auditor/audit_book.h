// What audits keep in the store: how far each has come, who runs it now, and what was found. Calls wait, so they are
// for threads that may.
//
//   audit-run/NAME        how far, and the lease of the gateway that runs the window
//   audit-finding/ID      a finding
//
// Every change goes by the version that was read, so gateways that share a store agree.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auditor/comparison.h"
#include "auditor/finding.h"
#include "auditor/window.h"
#include "store/notes.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::auditor {

// How the last run of an audit went, and how far it has come. Times of the gateway that ran it, but for `progress`.
struct AuditStatus {
  AuditProgress progress;
  std::string holder;  // of the lease; empty if nobody runs it
  Time held_until{};
  Time since{};  // the first window was begun
  Time begun{};
  Time ended{};
  Time judged{};        // when a window was judged last; zero if never
  bool blind = false;   // the comparison did not see what was planted
  std::string trouble;  // why the last window was not judged, as UTF-8; empty if it was
  std::uint64_t effects = 0;
  std::uint64_t keys = 0;
  std::uint64_t took_ms = 0;
  std::uint64_t lag_ms = 0;
  std::array<std::uint64_t, finding_kinds> suspects{};  // by kind, of the last window; more than are kept, maybe
};

struct KeptStatus {
  AuditStatus status;
  std::uint64_t version = 0;  // of the note; 0: there is none yet
};

struct FindingFilter {
  std::optional<std::string> audit;
  std::optional<FindingState> state;
  std::optional<AuditKind> kind;
};

class AuditBook {
 public:
  // `notes` outlives this.
  explicit AuditBook(store::Notes& notes) : notes_(notes) {}

  Result<KeptStatus> status(const std::string& audit);
  // Code::fenced: another gateway was quicker. Sets the new version.
  Result<void> write(const std::string& audit, KeptStatus& kept);

  Result<std::optional<AuditFinding>> find(const std::string& id);
  // All that the filter takes, oldest name first, at most `limit`.
  Result<std::vector<AuditFinding>> list(const FindingFilter& filter, std::size_t limit);
  // Makes the finding, or changes the one that is there: `change` is given what is kept, or nothing, and says what is
  // to be kept; nothing if it stays as it is. Called again if another gateway was quicker.
  using Change = std::function<std::optional<AuditFinding>(const std::optional<AuditFinding>&)>;
  Result<void> change(const std::string& id, const Change& change);
  Result<void> drop(const std::string& id);

 private:
  store::Notes& notes_;
};

std::string status_json(const AuditStatus& status);
AuditStatus status_from(std::string_view json);

}  // namespace semel::auditor
