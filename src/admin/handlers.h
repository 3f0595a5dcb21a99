// The handlers of the rows in table.cc, each described in its own file.
#pragma once

#include <optional>

#include "admin/caller.h"
#include "admin/sources.h"
#include "http/transaction.h"
#include "policy/request_view.h"
#include <semel/async.h>
#include <semel/response.h>

namespace semel::admin {

Task<Response> health(const Sources* sources, policy::RequestView request, Caller caller);     // health.cc
Task<Response> readiness(const Sources* sources, policy::RequestView request, Caller caller);  // health.cc
Task<Response> metrics(const Sources* sources, policy::RequestView request, Caller caller);    // health.cc
Task<Response> reopen(const Sources* sources, policy::RequestView request, Caller caller);     // reopen.cc

Task<Response> list_keys(const Sources* sources, policy::RequestView request, Caller caller);            // keys.cc
Task<Response> show_key(const Sources* sources, policy::RequestView request, Caller caller);             // keys.cc
Task<Response> find_key(const Sources* sources, policy::RequestView request, Caller caller);             // find.cc
Task<Response> show_response(const Sources* sources, policy::RequestView request, Caller caller);        // acts.cc
Task<Response> resolve_key(const Sources* sources, policy::RequestView request, Caller caller);          // acts.cc
Task<Response> reopen_key(const Sources* sources, policy::RequestView request, Caller caller);           // acts.cc
Task<Response> show_audit(const Sources* sources, policy::RequestView request, Caller caller);           // keys.cc
Task<Response> list_audits(const Sources* sources, policy::RequestView request, Caller caller);          // audits.cc
Task<Response> run_audit(const Sources* sources, policy::RequestView request, Caller caller);            // audits.cc
Task<Response> list_findings(const Sources* sources, policy::RequestView request, Caller caller);        // audits.cc
Task<Response> close_finding(const Sources* sources, policy::RequestView request, Caller caller);        // audits.cc
Task<Response> acknowledge_finding(const Sources* sources, policy::RequestView request, Caller caller);  // audits.cc
Task<Response> show_timeline(const Sources* sources, policy::RequestView request, Caller caller);        // timeline.cc
Task<std::optional<Response>> stream_tail(const Sources* sources, policy::RequestView request, Caller caller,
                                          http::Transaction* client);                                  // tail.cc
Task<Response> show_now(const Sources* sources, policy::RequestView request, Caller caller);           // now.cc
Task<Response> show_config(const Sources* sources, policy::RequestView request, Caller caller);        // settings.cc
Task<Response> show_session(const Sources* sources, policy::RequestView request, Caller caller);       // session.cc
Task<Response> begin_session(const Sources* sources, policy::RequestView request, Caller caller);      // session.cc
Task<Response> end_session(const Sources* sources, policy::RequestView request, Caller caller);        // session.cc
Task<Response> dashboard(const Sources* sources, policy::RequestView request, Caller caller);          // dashboard.cc
Task<Response> show_tally(const Sources* sources, policy::RequestView request, Caller caller);         // tally.cc
Task<Response> show_doctor(const Sources* sources, policy::RequestView request, Caller caller);        // doctor.cc
Task<Response> list_outboxes(const Sources* sources, policy::RequestView request, Caller caller);      // outbox.cc
Task<Response> show_webhooks(const Sources* sources, policy::RequestView request, Caller caller);      // webhooks.cc
Task<Response> openapi(const Sources* sources, policy::RequestView request, Caller caller);            // openapi.cc
Task<Response> list_inbox(const Sources* sources, policy::RequestView request, Caller caller);         // inbox.cc
Task<Response> plan_or_start_job(const Sources* sources, policy::RequestView request, Caller caller);  // inbox_jobs.cc
Task<Response> list_jobs(const Sources* sources, policy::RequestView request, Caller caller);          // inbox_jobs.cc
Task<Response> show_job(const Sources* sources, policy::RequestView request, Caller caller);           // inbox_jobs.cc
Task<Response> cancel_job(const Sources* sources, policy::RequestView request, Caller caller);         // inbox_jobs.cc
Task<std::optional<Response>> stream_export(const Sources* sources, policy::RequestView request, Caller caller,
                                            http::Transaction* client);                              // inbox_export.cc
Task<Response> show_event(const Sources* sources, policy::RequestView request, Caller caller);       // inbox.cc
Task<Response> show_event_body(const Sources* sources, policy::RequestView request, Caller caller);  // inbox_acts.cc
Task<Response> redeliver_event(const Sources* sources, policy::RequestView request, Caller caller);  // inbox_acts.cc
Task<Response> discard_event(const Sources* sources, policy::RequestView request, Caller caller);    // inbox_acts.cc
Task<Response> resolve_event(const Sources* sources, policy::RequestView request, Caller caller);    // inbox_acts.cc
Task<Response> list_destinations(const Sources* sources, policy::RequestView request, Caller caller);   // inbox_acts.cc
Task<Response> pause_destination(const Sources* sources, policy::RequestView request, Caller caller);   // inbox_acts.cc
Task<Response> resume_destination(const Sources* sources, policy::RequestView request, Caller caller);  // inbox_acts.cc

}  // namespace semel::admin
