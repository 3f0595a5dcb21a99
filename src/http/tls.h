// TLS 1.2 and 1.3 (OpenSSL 3). It never waits for its socket; the caller does.
//
// A Tls makes one step at a time on a socket that does not block, and says what the next step has to wait for. So
// Connection waits in one way for all its connections, and a connection that is not encrypted pays nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <openssl/types.h>

#include "http/failure.h"
#include <semel/result.h>

namespace semel::http {

enum class ClientCertificate : std::uint8_t { none, optional, required };

struct TlsServerOptions {
  std::string cert_file;  // PEM: ours first, then the chain
  std::string key_file;
  std::string client_ca_file;  // PEM: the authorities that may sign certificates of clients
  ClientCertificate client = ClientCertificate::none;
};

enum class Verify : std::uint8_t { peer, nothing };

struct TlsClientOptions {
  std::string ca_file;  // PEM; empty: the authorities that this machine trusts
  std::string cert_file;
  std::string key_file;
  Verify verify = Verify::peer;
};

// Certificates and rules, shared by connections and threads. The files are read once, by the functions that make one.
class TlsContext {
 public:
  // Code::invalid: a file cannot be read or does not match the others; the message names it.
  static Result<std::shared_ptr<const TlsContext>> for_server(const TlsServerOptions& options);
  static Result<std::shared_ptr<const TlsContext>> for_client(const TlsClientOptions& options);

  explicit TlsContext(SSL_CTX* context) : context_(context) {}
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  [[nodiscard]] SSL_CTX* native() const { return context_; }
  // When our own certificate expires, in seconds since 1970; null if there is none.
  [[nodiscard]] std::optional<std::int64_t> expires_at() const;

 private:
  SSL_CTX* const context_;
};

class Tls {
 public:
  // The result of a step: `size` bytes were read or written, or the socket has to be ready for `want` first.
  enum class Want : std::uint8_t { nothing, read, write };
  struct Step {
    Want want = Want::nothing;
    std::size_t size = 0;
  };

  // `socket` does not block, and is open whenever a member is called.
  static std::unique_ptr<Tls> accept(std::shared_ptr<const TlsContext> context, int socket);
  // Expects a certificate for `host`, a name or an address, unless the context verifies nothing.
  static std::unique_ptr<Tls> connect(std::shared_ptr<const TlsContext> context, int socket, const std::string& host);

  Tls(std::shared_ptr<const TlsContext> context, SSL* session);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  // Failure::closed: the peer has said that this is the end. A connection that is just cut is Failure::broken.
  Try<Step> shake_hands();
  Try<Step> read(std::span<char> room);
  Try<Step> write(std::string_view data);
  // Whether the peer has sent nothing that read() would return, and has not closed.
  bool silent();
  // Tells the peer that this is the end, if that can be done without waiting.
  void say_end();

  // Why the handshake failed, as a text for an operator.
  [[nodiscard]] std::string complaint() const;

  // The subject of the client's certificate in the form of RFC 4514; empty if the client sent none.
  [[nodiscard]] const std::string& subject() const { return subject_; }

 private:
  Try<Step> step(int result, std::size_t size);

  const std::shared_ptr<const TlsContext> context_;
  SSL* const session_;
  std::string subject_;
  std::string refused_;  // the certificate of the peer that was not accepted, in words
  bool broken_ = false;
};

}  // namespace semel::http
