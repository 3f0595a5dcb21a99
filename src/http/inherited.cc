#include "http/inherited.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <asm-generic/socket.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <semel/result.h>

namespace semel::http {
namespace {

// Null if it is no TCP socket that listens.
std::optional<std::uint16_t> listening_port(int socket) {
  int listens = 0;
  unsigned size = sizeof(listens);
  if (getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) return std::nullopt;
  sockaddr_storage address{};
  size = sizeof(address);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return std::nullopt;
  if (address.ss_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &address, sizeof(four));
    return ntohs(four.sin_port);
  }
  if (address.ss_family != AF_INET6) return std::nullopt;
  sockaddr_in6 six{};
  std::memcpy(&six, &address, sizeof(six));
  return ntohs(six.sin6_port);
}

}  // namespace

Result<Inherited> Inherited::of(const std::vector<int>& sockets) {
  Inherited inherited;
  for (const int socket : sockets) {
    const auto port = listening_port(socket);
    if (!port) return fail(Code::invalid, "descriptor " + std::to_string(socket) + " is no TCP socket that listens");
    inherited.held_.push_back({.socket = socket, .port = *port});
  }
  return inherited;
}

std::optional<int> Inherited::copy_of(std::uint16_t port) const {
  const auto found = std::ranges::find(held_, port, &Held::port);
  if (port == 0 || found == held_.end()) return std::nullopt;
  const int copy = fcntl(found->socket, F_DUPFD_CLOEXEC, 0);
  return copy < 0 ? std::nullopt : std::optional(copy);
}

std::vector<std::uint16_t> Inherited::ports() const {
  std::vector<std::uint16_t> ports;
  ports.reserve(held_.size());
  for (const Held& held : held_) ports.push_back(held.port);
  return ports;
}

}  // namespace semel::http
