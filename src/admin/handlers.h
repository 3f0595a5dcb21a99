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

Task<Response> list_keys(const Sources* sources, policy::RequestView request, Caller caller);      // keys.cc
Task<Response> show_key(const Sources* sources, policy::RequestView request, Caller caller);       // keys.cc
Task<Response> find_key(const Sources* sources, policy::RequestView request, Caller caller);       // find.cc
Task<Response> show_response(const Sources* sources, policy::RequestView request, Caller caller);  // acts.cc
Task<Response> resolve_key(const Sources* sources, policy::RequestView request, Caller caller);    // acts.cc
Task<Response> reopen_key(const Sources* sources, policy::RequestView request, Caller caller);     // acts.cc
Task<Response> show_audit(const Sources* sources, policy::RequestView request, Caller caller);     // keys.cc
Task<Response> show_tally(const Sources* sources, policy::RequestView request, Caller caller);     // tally.cc
Task<Response> show_doctor(const Sources* sources, policy::RequestView request, Caller caller);    // doctor.cc
Task<Response> openapi(const Sources* sources, policy::RequestView request, Caller caller);        // openapi.cc

}  // namespace semel::admin
