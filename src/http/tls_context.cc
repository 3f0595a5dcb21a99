// What we accept is in runtime/tls_rules.h. ALPN agrees on HTTP/1.1 only.
#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <openssl/asn1.h>
#include <openssl/safestack.h>
#include <openssl/ssl.h>
#include <openssl/tls1.h>
#include <openssl/types.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include "core/check.h"
#include "http/certificate.h"
#include "http/tls.h"
#include "runtime/tls_rules.h"
#include <semel/result.h>

namespace semel::http {
namespace {

constexpr std::string_view protocol("\x08http/1.1");  // as ALPN writes it

int choose_protocol(SSL* /*session*/, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                    unsigned int offered_size, void* /*nothing*/) {
  unsigned char* chosen = nullptr;
  const auto* const ours = reinterpret_cast<const unsigned char*>(protocol.data());
  const int found =
      SSL_select_next_proto(&chosen, out_size, ours, static_cast<unsigned int>(protocol.size()), offered, offered_size);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

std::shared_ptr<const TlsContext> make(const SSL_METHOD* method) {
  SSL_CTX* const context = SSL_CTX_new(method);
  core::check(context != nullptr, "OpenSSL has memory");
  auto made = std::make_shared<const TlsContext>(context);
  runtime::apply_tls_rules(context);
  return made;
}

// The session forgets a certificate that it refuses, so it is written down here for Tls::complaint().
int note_refused(int accepted, X509_STORE_CTX* store) {
  if (accepted == 1) return accepted;
  const auto* const session =
      static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  const X509* const certificate = X509_STORE_CTX_get_current_cert(store);
  auto* const refused = session == nullptr ? nullptr : static_cast<std::string*>(SSL_get_app_data(session));
  if (refused != nullptr && certificate != nullptr) *refused = describe(certificate);
  return accepted;
}

}  // namespace

TlsContext::~TlsContext() {
  SSL_CTX_free(context_);
}

std::optional<std::int64_t> TlsContext::expires_at() const {
  const X509* const ours = SSL_CTX_get0_certificate(context_);
  if (ours == nullptr) return std::nullopt;
  std::tm time{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(ours), &time) != 1) return std::nullopt;
  using std::chrono::sys_days;
  const sys_days day{std::chrono::year(time.tm_year + 1900) / (time.tm_mon + 1) / time.tm_mday};
  const std::chrono::seconds at = day.time_since_epoch() + std::chrono::hours(time.tm_hour) +
                                  std::chrono::minutes(time.tm_min) + std::chrono::seconds(time.tm_sec);
  return at.count();
}

Result<std::shared_ptr<const TlsContext>> TlsContext::for_server(const TlsServerOptions& options) {
  std::shared_ptr<const TlsContext> made = make(TLS_server_method());
  SSL_CTX* const context = made->native();
  if (Result<void> loaded = runtime::load_tls_pair(context, options.cert_file, options.key_file); !loaded) {
    return std::unexpected(loaded.error());
  }
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  if (options.client == ClientCertificate::none) return made;

  if (Result<void> trusted = runtime::trust_tls(context, options.client_ca_file); !trusted) {
    return std::unexpected(trusted.error());
  }
  STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(options.client_ca_file.c_str());
  if (names == nullptr) return fail(Code::invalid, options.client_ca_file + ": " + runtime::tls_complaint());
  SSL_CTX_set_client_CA_list(context, names);
  constexpr std::array<unsigned char, 5> purpose{'s', 'e', 'm', 'e', 'l'};
  core::check(SSL_CTX_set_session_id_context(context, purpose.data(), purpose.size()) == 1, "the name is short");
  const bool required = options.client == ClientCertificate::required;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | (required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), nullptr);
  return made;
}

Result<std::shared_ptr<const TlsContext>> TlsContext::for_client(const TlsClientOptions& options) {
  std::shared_ptr<const TlsContext> made = make(TLS_client_method());
  SSL_CTX* const context = made->native();
  if (Result<void> trusted = runtime::trust_tls(context, options.ca_file); !trusted) {
    return std::unexpected(trusted.error());
  }
  if (!options.cert_file.empty()) {
    if (Result<void> loaded = runtime::load_tls_pair(context, options.cert_file, options.key_file); !loaded) {
      return std::unexpected(loaded.error());
    }
  }
  SSL_CTX_set_verify(context, options.verify == Verify::peer ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, note_refused);
  return made;
}

}  // namespace semel::http
