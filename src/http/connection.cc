// Reads and writes on one socket. A deadline closes the socket, which ends whatever is under way on it.
#include "http/connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <string_view>
#include <utility>

#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>

#include "http/failure.h"
#include "http/ticker.h"
#include <semel/async.h>

namespace semel::http {
namespace {

namespace asio = boost::asio;

constexpr std::size_t buffer_bytes_first = 4096;    // an idle connection costs no more than this
constexpr std::size_t buffer_bytes_grown = 65'536;  // one that streams reads this much at a time
constexpr auto quietly = asio::as_tuple(asio::use_awaitable_t<Executor>());

void send_at_once(Socket& socket) {
  boost::system::error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
}

}  // namespace

Connection::Connection(Socket socket, Ticker& ticker) : socket_(std::move(socket)), watch_(ticker, [this] { late(); }) {
  if (socket_.is_open()) send_at_once(socket_);
}

Attempt<void> Connection::connect(asio::ip::tcp::endpoint endpoint) {
  const auto [error] = co_await socket_.async_connect(endpoint, quietly);
  if (error) co_return failed(watch_.late() ? Failure::timed_out : Failure::unreachable);
  send_at_once(socket_);
  co_return Try<void>();
}

Attempt<void> Connection::fill() {
  if (from_ == to_) from_ = to_ = 0;
  if (to_ == buffer_.size()) {
    if (from_ > 0) {
      buffer_.erase(0, from_);
      to_ -= from_;
      from_ = 0;
    }
    if (buffer_.size() < to_ + buffer_bytes_first) {
      buffer_.resize(buffer_.empty() ? buffer_bytes_first : buffer_.size() + buffer_bytes_grown);
    }
  }
  const auto room = asio::buffer(buffer_.data() + to_, buffer_.size() - to_);
  const auto [error, size] = co_await socket_.async_read_some(room, quietly);
  if (error) co_return failed(reason(error));
  to_ += size;
  co_return Try<void>();
}

void Connection::consume(std::size_t size) {
  from_ += size;
}

Attempt<void> Connection::write(std::string_view first, std::string_view second) {
  while (!first.empty() || !second.empty()) {
    const std::array<asio::const_buffer, 2> parts{asio::buffer(first), asio::buffer(second)};
    const auto [error, size] = co_await socket_.async_write_some(parts, quietly);
    written_ += size;
    if (error) co_return failed(reason(error));
    const std::size_t of_first = std::min(size, first.size());
    first.remove_prefix(of_first);
    second.remove_prefix(size - of_first);
  }
  co_return Try<void>();
}

void Connection::late() {
  if (const auto instead = std::exchange(instead_, nullptr)) {
    instead();
  } else {
    close();
  }
}

Failure Connection::reason(const boost::system::error_code& error) const {
  if (watch_.late()) return Failure::timed_out;
  return error == asio::error::eof ? Failure::closed : Failure::broken;
}

bool Connection::silent() {
  if (from_ != to_ || !socket_.is_open()) return false;
  char byte = 0;
  return ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
         (errno == EAGAIN || errno == EWOULDBLOCK);
}

std::string Connection::peer_address() const {
  boost::system::error_code error;
  const auto peer = socket_.remote_endpoint(error);
  return error ? std::string() : peer.address().to_string();
}

void Connection::interrupt() {
  boost::system::error_code ignored;
  socket_.cancel(ignored);
}

void Connection::shut_down_writing() {
  boost::system::error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
}

void Connection::close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

}  // namespace semel::http
