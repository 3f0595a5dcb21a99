#include "gateway/tls_set.h"

#include <algorithm>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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

}  // namespace semel::gateway
