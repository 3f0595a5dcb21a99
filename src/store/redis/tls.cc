// The handshake waits; everything after it is one step at a time. OpenSSL keeps a queue of errors per thread, which is
// emptied before each step.
#include "store/redis/tls.h"

#include <cstddef>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <sys/poll.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/types.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include "core/check.h"
#include "core/redis_url.h"
#include "runtime/tls_rules.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {
namespace {

using Context = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;

Result<Context> context_of(const core::RedisUrl& url) {
  Context context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  core::check(context != nullptr, "OpenSSL has memory");
  runtime::apply_tls_rules(context.get());
  Result<void> good = runtime::trust_tls(context.get(), url.ca);
  if (good && !url.cert.empty()) good = runtime::load_tls_pair(context.get(), url.cert, url.key);
  if (!good) return fail(Code::unavailable, std::move(good.error().detail));
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  return context;
}

std::string why_not(const SSL* session) {
  const long verified = SSL_get_verify_result(session);
  if (verified != X509_V_OK) {
    return "its certificate is refused: " + std::string(X509_verify_cert_error_string(verified));
  }
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  return reason == nullptr ? "it closed the connection during the TLS handshake" : std::string("TLS: ") + reason;
}

}  // namespace

Result<std::unique_ptr<RedisTls>> RedisTls::connect(const Clock& clock, const core::RedisUrl& url,
                                                    const std::string& host, int socket, Millis time_max) {
  const Result<Context> context = context_of(url);
  if (!context) return std::unexpected(context.error());
  SSL* const session = SSL_new(context->get());
  core::check(session != nullptr, "OpenSSL has memory");
  auto tls = std::make_unique<RedisTls>(session);
  core::check(SSL_set_fd(session, socket) == 1, "OpenSSL has memory");
  runtime::expect_tls_host(session, host);
  SSL_set_connect_state(session);
  const Time end = clock.now() + time_max;
  for (;;) {
    ERR_clear_error();
    const int result = SSL_do_handshake(session);
    if (result == 1) return tls;
    const int wants = SSL_get_error(session, result);
    if (wants != SSL_ERROR_WANT_READ && wants != SSL_ERROR_WANT_WRITE) {
      return fail(Code::unavailable, why_not(session));
    }
    const Millis left = end - clock.now();
    if (left <= Millis{0}) return fail(Code::unavailable, "no answer in time");
    const auto events = static_cast<short>(wants == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT);
    pollfd waiting{.fd = socket, .events = events, .revents = 0};
    ::poll(&waiting, 1, static_cast<int>(left.count()));
  }
}

RedisTls::~RedisTls() {
  SSL_free(session_);
}

Result<std::size_t> RedisTls::step(int result, std::size_t size) {
  if (result == 1) return size;
  const int wants = SSL_get_error(session_, result);
  if (wants == SSL_ERROR_WANT_READ || wants == SSL_ERROR_WANT_WRITE) return std::size_t{0};
  return fail(Code::unavailable, wants == SSL_ERROR_ZERO_RETURN ? "the connection to Redis is lost: it has closed it"
                                                                : "the connection to Redis is lost: TLS has failed");
}

Result<std::size_t> RedisTls::read(std::span<char> room) {
  ERR_clear_error();
  std::size_t size = 0;
  const int result = SSL_read_ex(session_, room.data(), room.size(), &size);
  return step(result, size);
}

Result<std::size_t> RedisTls::write(std::string_view bytes) {
  ERR_clear_error();
  std::size_t size = 0;
  const int result = SSL_write_ex(session_, bytes.data(), bytes.size(), &size);
  return step(result, size);
}

bool RedisTls::has_more() const {
  return SSL_pending(session_) > 0;
}

}  // namespace semel::store::redis
