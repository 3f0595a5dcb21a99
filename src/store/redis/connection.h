// A connection that speaks RESP: what is queued goes out as the socket takes it, replies come in as they are whole.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/redis_url.h"
#include "store/redis/resp.h"
#include "store/redis/socket.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {

class RedisConnection {
 public:
  explicit RedisConnection(RedisSocket socket) : socket_(std::move(socket)) {}

  // Connects and says who we are: user, password and database of the address. Blocks for up to `time_max`.
  static Result<RedisConnection> open(const Clock& clock, const core::RedisUrl& url, const core::RedisHost& host,
                                      Millis time_max);

  void queue(std::string_view commands) { unsent_.append(commands); }
  // Reads and writes as much as it can without waiting, and adds the replies. An error: the connection is lost.
  Result<void> advance(std::vector<RespValue>& replies);
  [[nodiscard]] bool has_unsent() const { return sent_ < unsent_.size(); }  // wait for writing, too
  [[nodiscard]] int descriptor() const { return socket_.descriptor(); }

  // Sends commands and waits for their replies. Nothing else may be under way. Code::unavailable: the connection is
  // lost, or it took too long; it cannot be used any more. A reply may be an error of the server.
  Result<std::vector<RespValue>> ask(const Clock& clock, std::string_view commands, std::size_t replies,
                                     Millis time_max);
  Result<RespValue> ask(const Clock& clock, std::initializer_list<std::string_view> words, Millis time_max);

 private:
  Result<void> write_some();

  RedisSocket socket_;
  RespReader reader_;
  std::string unsent_;
  std::size_t sent_ = 0;  // of `unsent_`
};

// Code::full.
Error memory_full();
// What a server says of itself as an error, for an operator; never what was asked.
Error refusal_of(const RespValue& reply);

}  // namespace semel::store::redis
