// The handlers of the rows in table.cc, each described in its own file.
#pragma once

#include "admin/caller.h"
#include "admin/sources.h"
#include "policy/request_view.h"
#include <semel/async.h>
#include <semel/response.h>

namespace semel::admin {

Task<Response> health(const Sources* sources, policy::RequestView request, Caller caller);     // health.cc
Task<Response> readiness(const Sources* sources, policy::RequestView request, Caller caller);  // health.cc
Task<Response> metrics(const Sources* sources, policy::RequestView request, Caller caller);    // health.cc
Task<Response> reopen(const Sources* sources, policy::RequestView request, Caller caller);     // reopen.cc

Task<Response> list_keys(const Sources* sources, policy::RequestView request, Caller caller);           // keys.cc
Task<Response> show_key(const Sources* sources, policy::RequestView request, Caller caller);            // keys.cc
Task<Response> find_key(const Sources* sources, policy::RequestView request, Caller caller);            // find.cc
Task<Response> show_response(const Sources* sources, policy::RequestView request, Caller caller);       // acts.cc
Task<Response> resolve_key(const Sources* sources, policy::RequestView request, Caller caller);         // acts.cc
Task<Response> reopen_key(const Sources* sources, policy::RequestView request, Caller caller);          // acts.cc
Task<Response> show_audit(const Sources* sources, policy::RequestView request, Caller caller);          // keys.cc
Task<Response> list_inbox(const Sources* sources, policy::RequestView request, Caller caller);          // inbox.cc
Task<Response> show_event(const Sources* sources, policy::RequestView request, Caller caller);          // inbox.cc
Task<Response> show_event_body(const Sources* sources, policy::RequestView request, Caller caller);     // inbox_acts.cc
Task<Response> redeliver_event(const Sources* sources, policy::RequestView request, Caller caller);     // inbox_acts.cc
Task<Response> discard_event(const Sources* sources, policy::RequestView request, Caller caller);       // inbox_acts.cc
Task<Response> resolve_event(const Sources* sources, policy::RequestView request, Caller caller);       // inbox_acts.cc
Task<Response> list_destinations(const Sources* sources, policy::RequestView request, Caller caller);   // inbox_acts.cc
Task<Response> pause_destination(const Sources* sources, policy::RequestView request, Caller caller);   // inbox_acts.cc
Task<Response> resume_destination(const Sources* sources, policy::RequestView request, Caller caller);  // inbox_acts.cc
Task<Response> openapi(const Sources* sources, policy::RequestView request, Caller caller);             // openapi.cc

}  // namespace semel::admin
