// Bytes out as far as the socket takes them, replies in as far as they are whole.
#include "store/redis/connection.h"

#include <array>
#include <cstddef>
#include <expected>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/poll.h>

#include "core/redis_url.h"
#include "store/redis/resp.h"
#include "store/redis/socket.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {
namespace {

constexpr std::size_t room_bytes = 64U << 10U;

}  // namespace

Error memory_full() {
  return {.code = Code::full, .detail = "Redis has no memory left (maxmemory)"};
}

Error refusal_of(const RespValue& reply) {
  std::string detail = "Redis: " + reply.text;
  if (reply.is_error("OOM")) return memory_full();
  if (reply.is_error("NOPERM")) detail += "; docs/redis.md names the rights that a gateway needs";
  return {.code = Code::unavailable, .detail = std::move(detail)};
}

Result<RedisConnection> RedisConnection::open(const Clock& clock, const core::RedisUrl& url,
                                              const core::RedisHost& host, Millis time_max) {
  Result<RedisSocket> socket = RedisSocket::connect(clock, url, host, time_max);
  if (!socket) return std::unexpected(std::move(socket.error()));
  RedisConnection connection(*std::move(socket));
  if (!url.password.empty()) {
    const Result<RespValue> said = url.user.empty() ? connection.ask(clock, {"AUTH", url.password}, time_max)
                                                    : connection.ask(clock, {"AUTH", url.user, url.password}, time_max);
    if (!said) return std::unexpected(said.error());
    if (said->is_error()) return std::unexpected(refusal_of(*said));
  }
  if (url.database != 0) {
    const Result<RespValue> said = connection.ask(clock, {"SELECT", std::to_string(url.database)}, time_max);
    if (!said) return std::unexpected(said.error());
    if (said->is_error()) return std::unexpected(refusal_of(*said));
  }
  return connection;
}

Result<void> RedisConnection::write_some() {
  while (has_unsent()) {
    const Result<std::size_t> size = socket_.write(std::string_view(unsent_).substr(sent_));
    if (!size) return std::unexpected(size.error());
    if (*size == 0) return {};
    sent_ += *size;
  }
  unsent_.clear();
  sent_ = 0;
  return {};
}

Result<void> RedisConnection::advance(std::vector<RespValue>& replies) {
  if (Result<void> written = write_some(); !written) return written;
  std::array<char, room_bytes> room;
  for (;;) {
    const Result<std::size_t> size = socket_.read(room);
    if (!size) return std::unexpected(size.error());
    if (*size == 0) break;
    reader_.feed({room.data(), *size});
    if (*size < room.size() && !socket_.has_more()) break;
  }
  for (;;) {
    Result<std::optional<RespValue>> reply = reader_.next();
    if (!reply) return fail(Code::unavailable, reply.error().detail);
    std::optional<RespValue>& whole = *reply;
    if (!whole) return {};
    replies.push_back(*std::move(whole));
  }
}

Result<std::vector<RespValue>> RedisConnection::ask(const Clock& clock, std::string_view commands, std::size_t replies,
                                                    Millis time_max) {
  queue(commands);
  const Time end = clock.now() + time_max;
  std::vector<RespValue> found;
  for (;;) {
    const Result<void> moved = advance(found);
    if (!moved) return std::unexpected(moved.error());
    if (found.size() >= replies) return found;
    const Millis left = end - clock.now();
    if (left <= Millis{0}) return fail(Code::unavailable, "Redis did not answer in time");
    const auto events = static_cast<short>(has_unsent() ? POLLIN | POLLOUT : POLLIN);
    pollfd waiting{.fd = descriptor(), .events = events, .revents = 0};
    ::poll(&waiting, 1, static_cast<int>(left.count()));
  }
}

Result<RespValue> RedisConnection::ask(const Clock& clock, std::initializer_list<std::string_view> words,
                                       Millis time_max) {
  std::string command;
  append_command(command, words);
  Result<std::vector<RespValue>> replies = ask(clock, command, 1, time_max);
  if (!replies) return std::unexpected(std::move(replies.error()));
  return std::move(replies->front());
}

}  // namespace semel::store::redis
