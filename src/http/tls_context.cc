// We accept TLS 1.2 with forward secrecy and authenticated encryption, and TLS 1.3; no compression, no renegotiation.
// ALPN agrees on HTTP/1.1 only.
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
#include <openssl/err.h>
#include <openssl/prov_ssl.h>
#include <openssl/safestack.h>
#include <openssl/ssl.h>
#include <openssl/tls1.h>
#include <openssl/types.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include "core/check.h"
#include "http/certificate.h"
#include "http/tls.h"
#include <semel/result.h>

namespace semel::http {
namespace {

constexpr const char* ciphers_tls12 = "ECDHE+AESGCM:ECDHE+CHACHA20";
constexpr const char* groups = "X25519:P-256:P-384";
constexpr std::string_view protocol("\x08http/1.1");  // as ALPN writes it

// OpenSSL's last error, in its own words.
std::string complaint() {
  const unsigned long error = ERR_peek_last_error();
  const char* const reason = error == 0 ? nullptr : ERR_reason_error_string(error);
  return reason == nullptr ? "it cannot be used" : reason;
}

std::unexpected<Error> unfit(const std::string& file) {
  return fail(Code::invalid, file + ": " + complaint());
}

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
  const bool set = SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
                   SSL_CTX_set_cipher_list(context, ciphers_tls12) == 1 &&
                   SSL_CTX_set1_groups_list(context, groups) == 1;
  core::check(set, "OpenSSL knows the usual suites");
  SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // An idle connection keeps no buffers; a write that is repeated may have more data than before.
  SSL_CTX_set_mode(context,
                   SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  return made;
}

Result<void> load_pair(SSL_CTX* context, const std::string& cert_file, const std::string& key_file) {
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context, cert_file.c_str()) != 1) return unfit(cert_file);
  if (SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) != 1) return unfit(key_file);
  if (SSL_CTX_check_private_key(context) != 1) return unfit(key_file);
  return {};
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

Result<void> trust(SSL_CTX* context, const std::string& ca_file) {
  ERR_clear_error();
  if (SSL_CTX_load_verify_file(context, ca_file.c_str()) != 1) return unfit(ca_file);
  return {};
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
  if (Result<void> loaded = load_pair(context, options.cert_file, options.key_file); !loaded) {
    return std::unexpected(loaded.error());
  }
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  if (options.client == ClientCertificate::none) return made;

  if (Result<void> trusted = trust(context, options.client_ca_file); !trusted) {
    return std::unexpected(trusted.error());
  }
  STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(options.client_ca_file.c_str());
  if (names == nullptr) return unfit(options.client_ca_file);
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
  if (options.ca_file.empty()) {
    core::check(SSL_CTX_set_default_verify_paths(context) == 1, "OpenSSL has memory");
  } else if (Result<void> trusted = trust(context, options.ca_file); !trusted) {
    return std::unexpected(trusted.error());
  }
  if (!options.cert_file.empty()) {
    if (Result<void> loaded = load_pair(context, options.cert_file, options.key_file); !loaded) {
      return std::unexpected(loaded.error());
    }
  }
  SSL_CTX_set_verify(context, options.verify == Verify::peer ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, note_refused);
  return made;
}

}  // namespace semel::http
