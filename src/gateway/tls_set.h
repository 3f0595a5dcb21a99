// The certificates that a configuration names, read from their files: at the start, and at every reload.
#pragma once

#include <memory>
#include <vector>

#include "config/config.h"
#include "http/tls.h"
#include "telemetry/certificates.h"
#include <semel/result.h>

namespace semel::gateway {

struct TlsSet {
  std::shared_ptr<const http::TlsContext> server;  // nothing: plain HTTP
  std::shared_ptr<const http::TlsContext> api;     // the same for the claims API
  std::vector<std::shared_ptr<const http::TlsContext>>
      upstreams;  // as in the configuration; nothing where none is https
};

// Code::invalid: a file cannot be used; the message names it and the option.
Result<TlsSet> load_tls(const config::Config& config);

// When the certificates of `set` expire that are ours: those of listeners, and those that upstreams ask for.
std::vector<telemetry::CertificateExpiry> expiries_of(const TlsSet& set, const config::Config& config);

}  // namespace semel::gateway
