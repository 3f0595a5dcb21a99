// One thread that accepts, and one for each connection; shutting the sockets down ends them.
#include "support/relay.h"

#include <array>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace semel::test {
namespace {

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

bool write_all(int socket, const char* bytes, ssize_t count) {
  while (count > 0) {
    const ssize_t written = send(socket, bytes, static_cast<std::size_t>(count), MSG_NOSIGNAL);
    if (written <= 0) return false;
    bytes += written;
    count -= written;
  }
  return true;
}

}  // namespace

Relay::Relay(const std::filesystem::path& folder, int port, std::string server)
    : path_((folder / (".s.PGSQL." + std::to_string(port))).string()),
      server_(std::move(server)),
      listener_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  unlink(path_.c_str());
  const sockaddr_un address = address_of(path_);
  if (bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(listener_, 64) != 0) {
    throw std::runtime_error("the relay cannot listen at " + path_);
  }
  acceptor_ = std::thread([this] { accept_all(); });
}

Relay::~Relay() {
  closing_ = true;
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  cut();
  for (std::thread& pump : pumps_) pump.join();
  for (const int socket : swallowed_) close(socket);
  close(listener_);
  unlink(path_.c_str());
}

void Relay::cut() {
  const std::scoped_lock lock(mutex_);
  ++generation_;
  deaf_ = false;
  for (const int socket : sockets_) shutdown(socket, SHUT_RDWR);
}

void Relay::accept_all() {
  for (;;) {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0 || closing_) {
      if (client >= 0) close(client);
      return;
    }
    const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (swallows_) {
      const std::scoped_lock lock(mutex_);
      swallowed_.insert(swallowed_.end(), {client, server});
      continue;
    }
    const sockaddr_un address = address_of(server_);
    if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      close(client);
      close(server);
      continue;
    }
    const std::scoped_lock lock(mutex_);
    sockets_.insert(sockets_.end(), {client, server});
    pumps_.emplace_back([this, client, server, generation = generation_.load()] { pump(client, server, generation); });
  }
}

void Relay::pump(int client, int server, std::uint64_t generation) {
  std::array<char, 16'384> buffer{};
  std::array<pollfd, 2> both{{{client, POLLIN, 0}, {server, POLLIN, 0}}};
  for (bool alive = true; alive && poll(both.data(), both.size(), -1) > 0;) {
    for (std::size_t side = 0; side < 2 && alive; ++side) {
      if (both[side].revents == 0) continue;
      const ssize_t count = recv(both[side].fd, buffer.data(), buffer.size(), 0);
      if (side == 0 && count > 0) sent_ += static_cast<std::uint64_t>(count);
      const bool unheard = side == 1 && (deaf_ || generation != generation_);
      alive = count > 0 && (unheard || write_all(both[1 - side].fd, buffer.data(), count));
    }
  }
  const std::scoped_lock lock(mutex_);
  std::erase(sockets_, client);
  std::erase(sockets_, server);
  close(client);
  close(server);
}

}  // namespace semel::test
