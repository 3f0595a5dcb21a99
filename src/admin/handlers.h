// The handlers of the rows in table.cc, each described in its own file.
#pragma once

#include "admin/sources.h"
#include "policy/request_view.h"
#include <semel/async.h>
#include <semel/response.h>

namespace semel::admin {

Task<Response> health(const Sources* sources, policy::RequestView request);     // health.cc
Task<Response> readiness(const Sources* sources, policy::RequestView request);  // health.cc
Task<Response> metrics(const Sources* sources, policy::RequestView request);    // health.cc
Task<Response> reopen(const Sources* sources, policy::RequestView request);     // reopen.cc

}  // namespace semel::admin
