// Fetches one small document, with TLS if its address says https. It is used for the keys of webhook providers.
//
// A server is trusted if its certificate names the host and is signed by an authority that this machine trusts.
// Redirects are not followed.
#pragma once

#include <string>

#include "http/failure.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::http {

struct FetchOrder {
  std::string url;   // http:// or https://
  std::string body;  // for a POST: JSON, or a form if it is not an object; empty: a GET
  std::string authorization{};
};

// Returns the body of a 200 reply: at most 256 KiB, within ten seconds.
Attempted<std::string> fetch(FetchOrder order, Clock* clock, Executor executor);

}  // namespace semel::http
