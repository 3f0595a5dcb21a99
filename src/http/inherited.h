// Listening sockets that were open before this process started and stay open after it (sd_listen_fds(3)).
//
// Who holds them, usually systemd, lets the kernel queue connections while one process ends and the next one starts, so
// no client is refused. A listener takes the socket with its port; each thread gets a descriptor of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <semel/result.h>

namespace semel::http {

class Inherited {
 public:
  Inherited() = default;

  // Of descriptors that listen. Code::invalid: one of them does not; the message says which.
  static Result<Inherited> of(const std::vector<int>& sockets);

  // A copy of the socket with this port, for the caller to close. Null if there is none.
  [[nodiscard]] std::optional<int> copy_of(std::uint16_t port) const;

  // Their ports, in the order in which they came.
  [[nodiscard]] std::vector<std::uint16_t> ports() const;

 private:
  struct Held {
    int socket = -1;
    std::uint16_t port = 0;
  };
  std::vector<Held> held_;
};

}  // namespace semel::http
