#include "gateway/tls_set.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "config/config.h"
#include "http/tls.h"
#include "reading/address.h"
#include <semel/result.h>

namespace semel::gateway {
namespace {

http::ClientCertificate asked_of_clients(const config::TlsFiles& files) {
  if (files.client_ca.empty()) return http::ClientCertificate::none;
  return files.client_cert == config::ClientCert::required ? http::ClientCertificate::required
                                                           : http::ClientCertificate::optional;
}

}  // namespace

Result<TlsSet> load_tls(const config::Config& config) {
  TlsSet set;
  if (config.server.tls) {
    const config::TlsFiles& files = *config.server.tls;
    auto loaded = http::TlsContext::for_server({.cert_file = files.cert,
                                                .key_file = files.key,
                                                .client_ca_file = files.client_ca,
                                                .client = asked_of_clients(files)});
    if (!loaded) return fail(Code::invalid, "server.tls: " + loaded.error().detail);
    set.server = *std::move(loaded);
  }
  for (const config::UpstreamConfig& upstream : config.upstreams) {
    std::shared_ptr<const http::TlsContext>& context = set.upstreams.emplace_back();
    if (!std::ranges::any_of(upstream.urls, &reading::Url::secure)) continue;
    auto loaded =
        http::TlsContext::for_client({.ca_file = upstream.ca,
                                      .cert_file = upstream.cert,
                                      .key_file = upstream.key,
                                      .verify = upstream.verify ? http::Verify::peer : http::Verify::nothing});
    if (!loaded) return fail(Code::invalid, "upstream." + upstream.name + ": " + loaded.error().detail);
    context = *std::move(loaded);
  }
  return set;
}

}  // namespace semel::gateway
