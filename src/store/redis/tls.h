// TLS over a connected socket to a Redis server. It never waits once the handshake is over.
//
// The files of the address are read for every connection, so renewed certificates are used without a restart.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <openssl/types.h>

#include "core/redis_url.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {

class RedisTls {
 public:
  // Shakes hands; blocks for up to `time_max`. The certificate must be for `host`, a name or an address. `socket` does
  // not block, and outlives this. Code::unavailable: it is not, or a file cannot be used; says why.
  static Result<std::unique_ptr<RedisTls>> connect(const Clock& clock, const core::RedisUrl& url,
                                                   const std::string& host, int socket, Millis time_max);

  explicit RedisTls(SSL* session) : session_(session) {}
  ~RedisTls();
  RedisTls(const RedisTls&) = delete;
  RedisTls& operator=(const RedisTls&) = delete;

  // How many bytes were read or written; 0 if that has to wait. Code::unavailable: the connection is lost.
  Result<std::size_t> read(std::span<char> room);
  Result<std::size_t> write(std::string_view bytes);
  // Whether something was received that read() would return, so that the socket need not be ready for it.
  [[nodiscard]] bool has_more() const;

 private:
  Result<std::size_t> step(int result, std::size_t size);

  SSL* const session_;
};

}  // namespace semel::store::redis
