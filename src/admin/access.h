// Who may ask for what: tokens and their roles, and requests that a browser sends for somebody else's page.
#pragma once

#include <expected>

#include "admin/caller.h"
#include "admin/page.h"
#include "config/config.h"
#include "policy/request_view.h"
#include <semel/response.h>

namespace semel::admin {

// The caller, or what to answer instead: 401 without a token that is known, 403 if its role does not suffice, or if a
// page of another origin sent the request.
std::expected<Caller, Response> admitted(Access access, const policy::RequestView& request,
                                         const config::AdminConfig& config);

}  // namespace semel::admin
