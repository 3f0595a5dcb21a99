// Accepts connections on one address for one thread. Several threads listen on the same address, and the kernel shares
// out the connections.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "http/session.h"
#include "http/ticker.h"
#include "http/tls.h"
#include <semel/async.h>
#include <semel/result.h>

namespace semel::http {

// How many connections each client address has open.
class Visitors {
 public:
  // Returns how many there are now, this one included.
  std::size_t enter(const std::string& address);
  void leave(const std::string& address);

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::size_t> counts_;
};

// Shared by all listeners of one address.
struct Gate {
  std::atomic<bool> draining{false};
  std::atomic<std::size_t> connections{0};
  std::size_t connections_max = 10'000;
  std::size_t per_address_max = 0;  // 0: no limit, and nothing is counted
  Visitors visitors;
};

// Whether others may listen on the same address. The kernel then shares out connections to all of them, even to other
// processes. So the first listener of a process opens the address alone, to see whether it is free.
enum class Sharing : std::uint8_t { alone, shared };

class Listener {
 public:
  // Code::unavailable: the address cannot be opened; the message says which and why.
  static Result<std::unique_ptr<Listener>> open(const Executor& executor, Ticker& ticker, const std::string& host,
                                                std::uint16_t port, Sharing sharing, Gate& gate);

  // The same for a socket that listens already; it belongs to the listener from now on.
  static Result<std::unique_ptr<Listener>> adopt(const Executor& executor, Ticker& ticker, int socket, Gate& gate);

  // Accepts until stop(). Connections that are open then are served to their end.
  void start(RequestHandler& handler, SessionLimits limits);
  // For connections that are accepted from now on. Null: they are not encrypted.
  void set_tls(std::shared_ptr<const TlsContext> tls) { tls_ = std::move(tls); }
  void stop();
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::ip::tcp, Executor>;
  Listener(const Executor& executor, Ticker& ticker, Gate& gate);
  Task<void> accept();

  Executor executor_;
  Ticker& ticker_;
  Gate& gate_;
  Acceptor acceptor_;
  std::uint16_t port_ = 0;
  RequestHandler* handler_ = nullptr;
  SessionLimits limits_;
  std::shared_ptr<const TlsContext> tls_;
};

}  // namespace semel::http
