// A connected socket to a Redis server. It never blocks once it is connected: what cannot be done now is done later.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "core/redis_url.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {

class RedisSocket {
 public:
  // Blocks for up to `time_max`, and for as long as a name has to be looked up. `host` is one of the address, or one
  // that a server has named; it does not matter if the address is that of a socket.
  // Code::unavailable: nobody is there; the message names the host, and nothing else of the address.
  static Result<RedisSocket> connect(const core::RedisUrl& url, const core::RedisHost& host, Millis time_max);

  RedisSocket(RedisSocket&& other) noexcept;
  RedisSocket& operator=(RedisSocket&& other) noexcept;
  ~RedisSocket();
  RedisSocket(const RedisSocket&) = delete;
  RedisSocket& operator=(const RedisSocket&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }

  // How many bytes were read or written; 0 if that has to wait. Code::unavailable: the connection is lost.
  Result<std::size_t> read(std::span<char> room);
  Result<std::size_t> write(std::string_view bytes);

 private:
  explicit RedisSocket(int descriptor) : descriptor_(descriptor) {}

  int descriptor_ = -1;
};

}  // namespace semel::store::redis
