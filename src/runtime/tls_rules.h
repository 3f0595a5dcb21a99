// Which TLS we speak, and how a peer is known: the same for HTTP and for the stores that speak their protocol
// themselves.
//
// TLS 1.2 with forward secrecy and authenticated encryption, and TLS 1.3; no compression, no renegotiation. All of it
// is inline, so that only those who speak TLS are linked with OpenSSL's part for it.
#pragma once

#include <string>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/tls1.h>
#include <openssl/types.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "core/check.h"
#include <semel/result.h>

namespace semel::runtime {

// OpenSSL's last error, in its own words.
inline std::string tls_complaint() {
  const unsigned long error = ERR_peek_last_error();
  const char* const reason = error == 0 ? nullptr : ERR_reason_error_string(error);
  return reason == nullptr ? "it cannot be used" : reason;
}

inline void apply_tls_rules(SSL_CTX* context) {
  const bool set = SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
                   SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1 &&
                   SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384") == 1;
  core::check(set, "OpenSSL knows the usual suites");
  SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // An idle connection keeps no buffers; a write that is repeated may have more data than before.
  SSL_CTX_set_mode(context,
                   SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

// Our own certificate, then the chain; and its key. Code::invalid: names the file.
inline Result<void> load_tls_pair(SSL_CTX* context, const std::string& cert_file, const std::string& key_file) {
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context, cert_file.c_str()) != 1) {
    return fail(Code::invalid, cert_file + ": " + tls_complaint());
  }
  const bool fits = SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) == 1 &&
                    SSL_CTX_check_private_key(context) == 1;
  if (!fits) return fail(Code::invalid, key_file + ": " + tls_complaint());
  return {};
}

// The authorities in that file; those that this machine trusts if there is none. Code::invalid: names the file.
inline Result<void> trust_tls(SSL_CTX* context, const std::string& ca_file) {
  ERR_clear_error();
  if (ca_file.empty()) {
    core::check(SSL_CTX_set_default_verify_paths(context) == 1, "OpenSSL has memory");
  } else if (SSL_CTX_load_verify_file(context, ca_file.c_str()) != 1) {
    return fail(Code::invalid, ca_file + ": " + tls_complaint());
  }
  return {};
}

// The certificate of the peer must be for `host`, a name or an address.
inline void expect_tls_host(SSL* session, const std::string& host) {
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host.c_str()) != 1) {
    const bool set = SSL_set1_host(session, host.c_str()) == 1 && SSL_set_tlsext_host_name(session, host.c_str()) == 1;
    core::check(set, "OpenSSL has memory");
  }
  // The name must be among the alternative names: a common name is no host (RFC 9525 §2).
  SSL_set_hostflags(session, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
}

}  // namespace semel::runtime
