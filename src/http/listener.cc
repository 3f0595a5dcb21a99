// Accepts, counts and hands over; every connection is a coroutine of its own.
#include "http/listener.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <asm-generic/socket.h>
#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/basic_resolver.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "http/connection.h"
#include "http/failure.h"
#include "http/network.h"
#include "http/session.h"
#include "http/ticker.h"
#include "http/tls.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::http {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using ReusePort = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;

constexpr int backlog = 4096;

// One connection among those that are open.
class Visit {
 public:
  Visit(std::unique_ptr<Connection> connection, std::shared_ptr<const TlsContext> tls, RequestHandler& handler,
        SessionLimits limits, Gate& gate)
      : gate_(gate),
        connection_(*connection),
        tls_(std::move(tls)),
        handler_(handler),
        handshake_time_(limits.head_time),
        number_(++gate.connections),
        address_(gate.per_address_max == 0 ? std::string() : network_of(connection->peer_address())),
        of_address_(address_.empty() ? 0 : gate.visitors.enter(address_)),
        session_(std::move(connection), handler, limits, gate.draining) {}
  ~Visit() {
    if (!address_.empty()) gate_.visitors.leave(address_);
    --gate_.connections;
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  static Task<void> run(std::unique_ptr<Visit> self) {
    const Gate& gate = self->gate_;
    if (self->number_ > gate.connections_max || (self->of_address_ != 0 && self->of_address_ > gate.per_address_max)) {
      self->handler_.turned_away();
      if (self->tls_ == nullptr) co_await self->session_.turn_away();  // a handshake costs too much only to refuse
      co_return;
    }
    if (self->tls_ != nullptr) {
      self->connection_.deadline().expect_within(self->handshake_time_);
      const Try<void> secured = co_await self->connection_.accept_tls(std::move(self->tls_));
      if (!secured) {
        self->handler_.handshake_failed();
        co_return;
      }
    }
    co_await self->session_.run();
  }

 private:
  Gate& gate_;
  Connection& connection_;  // the session's
  std::shared_ptr<const TlsContext> tls_;
  RequestHandler& handler_;
  const Millis handshake_time_;
  const std::size_t number_;
  const std::string address_;  // "" if addresses are not counted
  const std::size_t of_address_;
  Session session_;
};

}  // namespace

std::size_t Visitors::enter(const std::string& address) {
  const std::scoped_lock lock(mutex_);
  return ++counts_[address];
}

void Visitors::leave(const std::string& address) {
  const std::scoped_lock lock(mutex_);
  const auto found = counts_.find(address);
  if (--found->second == 0) counts_.erase(found);
}

Listener::Listener(const Executor& executor, Ticker& ticker, Gate& gate)
    : executor_(executor), ticker_(ticker), gate_(gate), acceptor_(executor) {}

Result<std::unique_ptr<Listener>> Listener::open(const Executor& executor, Ticker& ticker, const std::string& host,
                                                 std::uint16_t port, Sharing sharing, Gate& gate) {
  std::unique_ptr<Listener> listener(new Listener(executor, ticker, gate));
  boost::system::error_code error;
  asio::ip::basic_resolver<tcp, Executor> resolver(executor);
  const auto found = resolver.resolve(host, std::to_string(port), asio::ip::resolver_base::passive, error);
  if (!error && found.empty()) error = asio::error::host_not_found;
  if (!error) {
    const tcp::endpoint endpoint = *found.begin();
    Acceptor& acceptor = listener->acceptor_;
    acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor.set_option(ReusePort(sharing == Sharing::shared), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(backlog, error);
    if (!error) listener->port_ = acceptor.local_endpoint(error).port();
  }
  if (error) {
    return fail(Code::unavailable,
                "cannot listen on " + host + " port " + std::to_string(port) + ": " + error.message());
  }
  return listener;
}

Result<std::unique_ptr<Listener>> Listener::adopt(const Executor& executor, Ticker& ticker, int socket, Gate& gate) {
  std::unique_ptr<Listener> listener(new Listener(executor, ticker, gate));
  sockaddr_storage address{};
  unsigned size = sizeof(address);
  boost::system::error_code error;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) error = asio::error::bad_descriptor;
  if (!error) {
    Acceptor& acceptor = listener->acceptor_;
    acceptor.assign(address.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), socket, error);
    if (!error) listener->port_ = acceptor.local_endpoint(error).port();
  }
  if (error) return fail(Code::unavailable, "cannot listen on a socket that was passed on: " + error.message());
  return listener;
}

void Listener::start(RequestHandler& handler, SessionLimits limits) {
  handler_ = &handler;
  limits_ = limits;
  asio::co_spawn(executor_, accept(), asio::detached);
}

Task<void> Listener::accept() {
  for (;;) {
    Socket socket(executor_);
    const auto [error] = co_await acceptor_.async_accept(socket, asio::as_tuple(asio::use_awaitable_t<Executor>()));
    if (error) {
      if (!acceptor_.is_open()) co_return;
      co_await ticker_.next();  // most likely out of file descriptors: wait before trying again
      continue;
    }
    auto visit = std::make_unique<Visit>(std::make_unique<Connection>(std::move(socket), ticker_), tls_, *handler_,
                                         limits_, gate_);
    asio::co_spawn(executor_, Visit::run(std::move(visit)), asio::detached);
    // One that was accepted just before stop() has been promised an answer, like any other.
    if (!acceptor_.is_open()) co_return;
  }
}

void Listener::stop() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
}

}  // namespace semel::http
