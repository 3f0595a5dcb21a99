// TCP, TLS and unix sockets, connected without blocking for longer than was asked.
#include "store/redis/socket.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <asm-generic/socket.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/poll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/redis_url.h"
#include "store/redis/tls.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {
namespace {

std::unexpected<Error> unreachable(const core::RedisUrl& url, const core::RedisHost& host, std::string_view why) {
  std::string detail = "Redis at ";
  detail += url.socket.empty() ? host.host + ":" + std::to_string(host.port) : url.socket;
  return fail(Code::unavailable, detail.append(" cannot be reached: ").append(why));
}

// Empty if the connection is there; else why it is not.
std::string connected(int descriptor, const sockaddr* address, socklen_t size, Millis time_max) {
  if (::connect(descriptor, address, size) == 0) return {};
  if (errno != EINPROGRESS && errno != EAGAIN) return std::strerror(errno);
  pollfd waiting{.fd = descriptor, .events = POLLOUT, .revents = 0};
  if (::poll(&waiting, 1, static_cast<int>(time_max.count())) <= 0) return "no answer in time";
  int error = 0;
  socklen_t length = sizeof(error);
  ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length);
  return error == 0 ? std::string() : std::strerror(error);
}

std::unexpected<Error> lost(std::string_view why) {
  return fail(Code::unavailable, "the connection to Redis is lost: " + std::string(why));
}

}  // namespace

RedisSocket::RedisSocket(RedisSocket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), tls_(std::move(other.tls_)) {}

RedisSocket& RedisSocket::operator=(RedisSocket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(tls_, other.tls_);
  return *this;
}

RedisSocket::~RedisSocket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<RedisSocket> RedisSocket::connect(const Clock& clock, const core::RedisUrl& url, const core::RedisHost& host,
                                         Millis time_max) {
  constexpr int kind = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
  if (!url.socket.empty()) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (url.socket.size() >= sizeof(address.sun_path)) return unreachable(url, host, "the path is too long");
    url.socket.copy(address.sun_path, sizeof(address.sun_path) - 1);
    RedisSocket socket(::socket(AF_UNIX, kind, 0));
    const std::string why =
        connected(socket.descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address), time_max);
    if (!why.empty()) return unreachable(url, host, why);
    return socket;
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(host.host.c_str(), std::to_string(host.port).c_str(), &hints, &found);
  if (failure != 0) return unreachable(url, host, ::gai_strerror(failure));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  std::string why = "it has no address";
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    RedisSocket socket(::socket(each->ai_family, kind, 0));
    if (socket.descriptor_ < 0) continue;
    why = connected(socket.descriptor_, each->ai_addr, each->ai_addrlen, time_max);
    if (!why.empty()) continue;
    const int on = 1;
    ::setsockopt(socket.descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    ::setsockopt(socket.descriptor_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    if (url.privacy == core::RedisUrl::Privacy::plain) return socket;
    Result<std::unique_ptr<RedisTls>> tls = RedisTls::connect(clock, url, host.host, socket.descriptor_, time_max);
    if (!tls) return unreachable(url, host, tls.error().detail);
    socket.tls_ = *std::move(tls);
    return socket;
  }
  return unreachable(url, host, why);
}

Result<std::size_t> RedisSocket::read(std::span<char> room) {
  if (tls_ != nullptr) return tls_->read(room);
  const ssize_t size = ::recv(descriptor_, room.data(), room.size(), 0);
  if (size > 0) return static_cast<std::size_t>(size);
  if (size == 0) return lost("the server has closed it");
  if (errno == EAGAIN || errno == EINTR) return std::size_t{0};
  return lost(std::strerror(errno));
}

Result<std::size_t> RedisSocket::write(std::string_view bytes) {
  if (tls_ != nullptr) return tls_->write(bytes);
  const ssize_t size = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (size >= 0) return static_cast<std::size_t>(size);
  if (errno == EAGAIN || errno == EINTR) return std::size_t{0};
  return lost(std::strerror(errno));
}

}  // namespace semel::store::redis
