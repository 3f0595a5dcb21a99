// What the operators' pages are made from. The listener is started beside a gateway, and gets only this much of it.
//
// Everything is used on the listener's own thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "admin/doubt_count.h"
#include "admin/sign_in.h"
#include "auditor/auditor.h"
#include "config/config.h"
#include "gateway/ask_probe.h"
#include "gateway/dispatcher.h"
#include "gateway/plan.h"
#include "store/audit_log.h"
#include "store/desk.h"
#include "store/history.h"
#include "telemetry/finding.h"
#include "telemetry/outbox_metrics.h"
#include "telemetry/recent.h"
#include "telemetry/tail.h"
#include "telemetry/tally_past.h"
#include "telemetry/webhook_metrics.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/reopening.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::admin {

struct Sources {
  Store& store;
  Reopening* reopening = nullptr;                                        // null if the store cannot
  std::function<std::shared_ptr<const config::Config>()> config;         // the one in force
  std::function<std::string()> metrics;                                  // the text of /metrics
  std::function<Task<std::vector<gateway::UpstreamState>>()> upstreams;  // each is asked
  std::function<bool()> draining;                                        // whether the gateway is on its way out
  std::function<Task<void>(Key)> forget;  // an operator has changed this key; done when no thread here remembers it
  Millis forgotten_within{0};             // by every other gateway on this store, at the latest
  store::Desk* desk = nullptr;            // null if the store has none
  store::AuditLog* audit = nullptr;       // the same; without it nothing is settled
  std::function<Time()> now = {};         // for the audit log
  std::function<Task<Result<Outcome>>(gateway::ProbeQuestion)> probe = {};  // what an upstream says of a request now
  std::shared_ptr<DoubtCount> doubts = nullptr;    // for /metrics; null if the store cannot be looked into
  SignIns* sign_ins = nullptr;                     // null if there is no dashboard to sign in to
  const telemetry::Recent* recent = nullptr;       // the last hour; null if nothing is sampled
  std::function<telemetry::Moment()> moment = {};  // and this second; set if that is
  store::History* history = nullptr;               // null if the store has none
  telemetry::Tail* tail = nullptr;                 // null if nothing can be watched
  Clock* clock = nullptr;                          // for pauses of what is watched
  // Tallies, and what the doctor found since a time; both empty if there are none.
  std::function<Async<telemetry::TallyAnswer>(telemetry::TallyQuestion)> tally = {};
  std::function<Async<std::vector<telemetry::Finding>>(Time)> findings = {};
  gateway::Dispatcher* dispatcher = nullptr;  // null if there is no inbox
  std::vector<std::shared_ptr<const telemetry::OutboxMetrics>> outboxes = {};
  telemetry::WebhookMetrics* webhooks = nullptr;  // null if nothing is counted
  auditor::Auditor* audits = nullptr;             // null if there are none
};

}  // namespace semel::admin
