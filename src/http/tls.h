// TLS 1.2 and 1.3 on a socket that somebody else waits for (OpenSSL 3).
//
// A Tls makes one step at a time on a socket that does not block and says what it waits for, so Connection has one way
// of waiting whether a connection is encrypted or not, and one that is not pays for nothing of this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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
  std::string client_ca_file;  // PEM: who may sign the certificates of clients
  ClientCertificate client = ClientCertificate::none;
};

enum class Verify : std::uint8_t { peer, nothing };

struct TlsClientOptions {
  std::string ca_file;  // PEM; empty: whom this machine trusts
  std::string cert_file;
  std::string key_file;
  Verify verify = Verify::peer;
};

// Certificates and rules, read once; shared by connections and threads. Whoever reads the files again makes a new one.
class TlsContext {
 public:
  // Code::invalid: a file cannot be read or does not fit the others; the message names it.
  static Result<std::shared_ptr<const TlsContext>> for_server(const TlsServerOptions& options);
  static Result<std::shared_ptr<const TlsContext>> for_client(const TlsClientOptions& options);

  explicit TlsContext(SSL_CTX* context) : context_(context) {}
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  [[nodiscard]] SSL_CTX* native() const { return context_; }

 private:
  SSL_CTX* const context_;
};

class Tls {
 public:
  // What became of a step: `size` bytes went through, or the socket has to be ready for something first.
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

  // Failure::closed only if the peer said so: a connection that is cut is broken.
  Try<Step> shake_hands();
  Try<Step> read(std::span<char> room);
  Try<Step> write(std::string_view data);
  // Whether the peer has sent nothing that read() would give, and has not closed.
  bool silent();
  // Tells the peer that this was all, if it can be told without waiting.
  void say_end();

  // The subject of the client's certificate as RFC 4514 writes it; empty if it sent none.
  [[nodiscard]] const std::string& subject() const { return subject_; }

 private:
  Try<Step> step(int result, std::size_t size);

  const std::shared_ptr<const TlsContext> context_;
  SSL* const session_;
  std::string subject_;
  bool broken_ = false;
};

}  // namespace semel::http
