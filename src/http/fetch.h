// Fetches one small document, with TLS where its address says https: the keys of webhook providers.
//
// A server is believed if its certificate is signed by an authority that this machine trusts and names the host. There
// are no redirects: what was asked for is what is taken.
#pragma once

#include <string>

#include "http/failure.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::http {

struct FetchOrder {
  std::string url;   // http:// or https://
  std::string body;  // JSON for a POST; empty: a GET
};

// The body of a 200, at most 256 KiB, within ten seconds.
Attempted<std::string> fetch(FetchOrder order, Clock* clock, Executor executor);

}  // namespace semel::http
