// A connected socket to a Redis server, with TLS if the address asks for it. It never blocks once it is connected: what
// cannot be done now is done later.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "core/redis_url.h"
#include "store/redis/tls.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {

class RedisSocket {
 public:
  // Blocks for up to `time_max`, and for as long as a name has to be looked up. `host` is one of the address, or one
  // that a server has named; it does not matter if the address is that of a socket.
  // Code::unavailable: nobody is there; the message names the host, and nothing else of the address.
  static Result<RedisSocket> connect(const Clock& clock, const core::RedisUrl& url, const core::RedisHost& host,
                                     Millis time_max);

  RedisSocket(RedisSocket&& other) noexcept;
  RedisSocket& operator=(RedisSocket&& other) noexcept;
  ~RedisSocket();
  RedisSocket(const RedisSocket&) = delete;
  RedisSocket& operator=(const RedisSocket&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }

  // How many bytes were read or written; 0 if that has to wait. Code::unavailable: the connection is lost.
  Result<std::size_t> read(std::span<char> room);
  Result<std::size_t> write(std::string_view bytes);
  // Whether read() would return something although the socket is not ready.
  [[nodiscard]] bool has_more() const { return tls_ != nullptr && tls_->has_more(); }

 private:
  explicit RedisSocket(int descriptor) : descriptor_(descriptor) {}

  int descriptor_ = -1;
  std::unique_ptr<RedisTls> tls_;  // null if it is plain
};

}  // namespace semel::store::redis
