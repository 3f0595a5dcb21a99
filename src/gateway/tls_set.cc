#include "gateway/tls_set.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "http/tls.h"
#include "reading/address.h"
#include "telemetry/certificates.h"
#include <semel/result.h>

namespace semel::gateway {
namespace {

http::ClientCertificate asked_of_clients(const config::TlsFiles& files) {
  if (files.client_ca.empty()) return http::ClientCertificate::none;
  return files.client_cert == config::ClientCert::required ? http::ClientCertificate::required
                                                           : http::ClientCertificate::optional;
}

// Null if the listener is not encrypted.
Result<std::shared_ptr<const http::TlsContext>> of_listener(const std::optional<config::TlsFiles>& files,
                                                            std::string_view option) {
  if (!files) return nullptr;
  auto loaded = http::TlsContext::for_server({.cert_file = files->cert,
                                              .key_file = files->key,
                                              .client_ca_file = files->client_ca,
                                              .client = asked_of_clients(*files)});
  if (!loaded) return fail(Code::invalid, std::string(option) + loaded.error().detail);
  return *std::move(loaded);
}

}  // namespace

Result<TlsSet> load_tls(const config::Config& config) {
  TlsSet set;
  Result<std::shared_ptr<const http::TlsContext>> server = of_listener(config.server.tls, "server.tls: ");
  if (!server) return std::unexpected(std::move(server.error()));
  set.server = *std::move(server);
  Result<std::shared_ptr<const http::TlsContext>> api = of_listener(config.api.tls, "api.tls: ");
  if (!api) return std::unexpected(std::move(api.error()));
  set.api = *std::move(api);
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

std::vector<telemetry::CertificateExpiry> expiries_of(const TlsSet& set, const config::Config& config) {
  std::vector<telemetry::CertificateExpiry> found;
  const auto add = [&](std::string use, const std::string& file, const http::TlsContext* context) {
    const std::optional<std::int64_t> at = context == nullptr ? std::nullopt : context->expires_at();
    if (at) found.push_back({.use = std::move(use), .file = file, .at_seconds = *at});
  };
  if (config.server.tls) add("server", config.server.tls->cert, set.server.get());
  if (config.api.tls) add("api", config.api.tls->cert, set.api.get());
  for (std::size_t i = 0; i < set.upstreams.size(); ++i) {
    const config::UpstreamConfig& upstream = config.upstreams.at(i);
    add("upstream." + upstream.name, upstream.cert, set.upstreams[i].get());
  }
  return found;
}

}  // namespace semel::gateway
