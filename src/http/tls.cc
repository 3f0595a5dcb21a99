// One session: steps that never wait. OpenSSL keeps a queue of errors per thread. It is emptied before each step,
// because an old error would be taken for an error of this step.
#include "http/tls.h"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/types.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include "core/check.h"
#include "http/failure.h"
#include "runtime/tls_rules.h"

namespace semel::http {
namespace {

std::unique_ptr<Tls> make(std::shared_ptr<const TlsContext> context, int socket) {
  SSL* const session = SSL_new(context->native());
  core::check(session != nullptr && SSL_set_fd(session, socket) == 1, "OpenSSL has memory");
  return std::make_unique<Tls>(std::move(context), session);
}

// The certificate has been verified: otherwise the handshake would have failed. Authorities give names without asking
// each other, so a subject means little without its issuer. In the text of a name a semicolon is escaped.
std::string subject_of(SSL* session) {
  const X509* const certificate = SSL_get0_peer_certificate(session);
  if (certificate == nullptr) return {};
  const std::unique_ptr<BIO, int (*)(BIO*)> out(BIO_new(BIO_s_mem()), BIO_free);
  core::check(out != nullptr, "OpenSSL has memory");
  X509_NAME_print_ex(out.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
  BIO_puts(out.get(), ";");
  X509_NAME_print_ex(out.get(), X509_get_issuer_name(certificate), 0, XN_FLAG_RFC2253);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

int clamped(std::size_t size) {
  return static_cast<int>(std::min<std::size_t>(size, INT_MAX));
}

}  // namespace

std::unique_ptr<Tls> Tls::accept(std::shared_ptr<const TlsContext> context, int socket) {
  std::unique_ptr<Tls> tls = make(std::move(context), socket);
  SSL_set_accept_state(tls->session_);
  return tls;
}

std::unique_ptr<Tls> Tls::connect(std::shared_ptr<const TlsContext> context, int socket, const std::string& host) {
  std::unique_ptr<Tls> tls = make(std::move(context), socket);
  runtime::expect_tls_host(tls->session_, host);
  SSL_set_app_data(tls->session_, &tls->refused_);
  SSL_set_connect_state(tls->session_);
  return tls;
}

Tls::Tls(std::shared_ptr<const TlsContext> context, SSL* session) : context_(std::move(context)), session_(session) {}

Tls::~Tls() {
  SSL_free(session_);
}

Try<Tls::Step> Tls::step(int result, std::size_t size) {
  if (result == 1) return Step{.want = Want::nothing, .size = size};
  switch (SSL_get_error(session_, result)) {
    case SSL_ERROR_WANT_READ:
      return Step{.want = Want::read};
    case SSL_ERROR_WANT_WRITE:
      return Step{.want = Want::write};
    case SSL_ERROR_ZERO_RETURN:
      return failed(Failure::closed);
    default:
      broken_ = true;
      return failed(Failure::broken);
  }
}

Try<Tls::Step> Tls::shake_hands() {
  ERR_clear_error();
  const int result = SSL_do_handshake(session_);
  if (result == 1 && SSL_is_server(session_) == 1) subject_ = subject_of(session_);
  return step(result, 0);
}

std::string Tls::complaint() const {
  const long verified = SSL_get_verify_result(session_);
  if (verified != X509_V_OK) {
    return "its certificate is refused: " + std::string(X509_verify_cert_error_string(verified)) +
           (refused_.empty() ? "" : " (" + refused_ + ")");
  }
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  return reason == nullptr ? "it closed the connection during the TLS handshake" : std::string("TLS: ") + reason;
}

Try<Tls::Step> Tls::read(std::span<char> room) {
  ERR_clear_error();
  std::size_t size = 0;
  const int result = SSL_read_ex(session_, room.data(), static_cast<std::size_t>(clamped(room.size())), &size);
  return step(result, size);
}

Try<Tls::Step> Tls::write(std::string_view data) {
  ERR_clear_error();
  std::size_t size = 0;
  const int result = SSL_write_ex(session_, data.data(), static_cast<std::size_t>(clamped(data.size())), &size);
  return step(result, size);
}

bool Tls::silent() {
  ERR_clear_error();
  char byte = 0;
  std::size_t size = 0;
  const Try<Step> peeked = step(SSL_peek_ex(session_, &byte, 1, &size), size);
  return peeked && peeked->want == Want::read;
}

void Tls::say_end() {
  if (broken_ || SSL_is_init_finished(session_) == 0) return;
  ERR_clear_error();
  SSL_shutdown(session_);
}

}  // namespace semel::http
