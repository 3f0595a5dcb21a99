// The auditor: a thread for each [[audit]] that looks at one window after the other, and what operators ask of it.
//
// Gateways that share a store share the audits: the one that gets the lease looks at the window (audit_book.h). A
// window that fails is part of the next one. What is found is kept before anybody is paged, and each finding pages
// once.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "auditor/audit_book.h"
#include "auditor/effect_source.h"
#include "auditor/finding.h"
#include "auditor/window_run.h"
#include "config/audit.h"
#include "store/aside.h"
#include "store/notes.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::auditor {

// Something that somebody is to be woken for. It is sent once under its key.
struct AuditPage {
  std::string to;  // a destination
  std::string key;
  std::string body;  // JSON
};

struct AuditorParts {
  Clock& clock;
  KeySources keys;
  store::Notes& notes;
  std::string node;                                         // this gateway among those on the store
  std::function<void(const std::string&)> say;              // a line for the log
  std::function<Result<void>(const AuditPage&)> page = {};  // accepts it durably; empty if there is no inbox
};

struct AuditOutcome {
  WindowReport report;
  Millis took{0};
  Millis lag{0};
  std::size_t not_closed = 0;  // of the findings, those that nobody has closed
};

// What somebody asks for by hand.
struct AuditAsked {
  std::string audit;
  std::optional<EffectSpan> span;  // none: the window that would come next
  bool test = false;               // look whether it sees, and keep nothing
  bool by_hand = true;             // all of what is found is described, known or not
};

// What is shown of an audit.
struct AuditView {
  const config::AuditConfig* config = nullptr;
  AuditStatus status;
};

class Auditor {
 public:
  Auditor(AuditorParts parts, std::vector<config::AuditConfig> audits);
  ~Auditor();
  Auditor(const Auditor&) = delete;
  Auditor& operator=(const Auditor&) = delete;

  // Makes sure that each database can be read, and that its role cannot write. A database that does not answer is no
  // mistake. Code::invalid says what is wrong with which audit.
  Result<void> check();
  void start();
  // Ends what is under way. Before the store and the inbox end.
  void end();

  [[nodiscard]] const std::vector<config::AuditConfig>& audits() const { return audits_; }
  void render(std::string& metrics) const;

  // From any executor. Code::invalid: there is no such audit, or its window cannot be.
  Async<AuditOutcome> run(AuditAsked asked);
  Async<std::vector<AuditView>> view();
  Async<std::vector<AuditFinding>> list(FindingFilter filter, std::size_t limit);
  Async<std::optional<AuditFinding>> find(std::string id);
  // Code::fenced: it is closed already, or gone.
  Async<AuditFinding> act(std::string id, FindingState state, std::string reason, std::string who);

 private:
  struct Figures {
    std::map<AuditKind, std::uint64_t> open;
    std::uint64_t duplicates_last_day = 0;
    std::optional<Time> judged_to;  // if nothing was judged yet, when the audit was begun; none: not known
    bool blind = false;
  };

  void follow(const config::AuditConfig& audit);
  // Whether the window was ours to look at.
  bool take_turn(const config::AuditConfig& audit);
  Result<AuditOutcome> look(const config::AuditConfig& audit, const AuditProgress& progress, const AuditAsked& asked);
  void keep(const config::AuditConfig& audit, KeptStatus kept, const Result<AuditOutcome>& outcome);
  // Keys whose effects were missing when they were looked for.
  std::vector<std::string> missed_by(const config::AuditConfig& audit);
  void close_those_that_came(const config::AuditConfig& audit, const std::vector<std::string>& came);
  // Keeps what is new of the findings, and gives them what is kept. Returns how many of them nobody has closed.
  Result<std::size_t> record(std::vector<AuditFinding>& findings);
  // The same, and keeps nothing.
  Result<void> look_up(std::vector<AuditFinding>& findings);
  void page(const config::AuditConfig& audit);
  void page_blind(const config::AuditConfig& audit, const AuditStatus& status);
  void refresh(const config::AuditConfig& audit);
  // Does what an operator asks for, unless this has ended.
  Result<void> work(const std::function<void()>& what);
  Result<AuditOutcome> run_now(const AuditAsked& asked);

  const AuditorParts parts_;
  const std::vector<config::AuditConfig> audits_;
  AuditBook book_;
  std::atomic<bool> stop_{false};
  struct Shared {
    std::mutex mutex;
    std::condition_variable wake;
    std::map<std::string, Figures> figures;
    std::map<std::size_t, std::function<void()>> cancels;  // of statements under way
    std::size_t next_cancel = 0;
    std::size_t working = 0;  // that operators have asked for
  };
  mutable Shared shared_;
  std::vector<std::thread> threads_;
  store::Aside runs_;
  store::Aside desk_;
};

}  // namespace semel::auditor
