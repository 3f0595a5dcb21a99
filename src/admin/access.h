// Who may ask for what: tokens and their roles, the dashboard's cookie, and requests that a browser sends for somebody
// else's page.
//
// A cookie is sent by the browser, whoever wrote the page. So a request that has one, and would change something, must
// show that our own page sent it: by Sec-Fetch-Site or Origin, and by what a form or an image of another page cannot
// send without our leave, a body that is called JSON and a field of our own. There is no token to lose.
#pragma once

#include <expected>
#include <string_view>

#include "admin/caller.h"
#include "admin/page.h"
#include "admin/sign_in.h"
#include "config/config.h"
#include "policy/request_view.h"
#include <semel/clock.h>
#include <semel/response.h>

namespace semel::admin {

// The dashboard's sessions, and the time.
struct Sessions {
  const SignIns* sign_ins = nullptr;  // null if there are none
  Time now{};
};

// The caller, or what to answer instead: 401 without a token that is known, 403 if its role does not suffice, or if a
// page of another origin sent the request.
std::expected<Caller, Response> admitted(Access access, const policy::RequestView& request,
                                         const config::AdminConfig& config, const Sessions& sessions = {});

// Why a request may not have come from our own page; empty if it has.
std::string_view not_of_our_page(const policy::RequestView& request);

// Whether the configuration has anybody who could be asked for. Without, everybody who reaches the listener reads.
bool knows_anybody(const config::AdminConfig& config);

}  // namespace semel::admin
