// Reads and writes on one socket. A deadline closes the socket, which ends whatever is under way on it.
#include "http/connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <sys/poll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>

#include "http/failure.h"
#include "http/ticker.h"
#include "runtime/failpoint.h"
#include <semel/async.h>

namespace semel::http {
namespace {

namespace asio = boost::asio;

constexpr std::size_t buffer_bytes_first = 4096;    // an idle connection costs no more than this
constexpr std::size_t buffer_bytes_grown = 65'536;  // one that streams reads this much at a time
constexpr std::size_t parts_max = 3;
constexpr std::size_t listened_bytes_max = 65'536;        // of an answer that comes while the request is being written
constexpr auto quietly = asio::as_tuple(asio::deferred);  // awaited as it is: no coroutine of its own

void send_at_once(Socket& socket) {
  boost::system::error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
}

ssize_t send_together(int socket, std::span<const std::string_view> parts) {
  std::array<iovec, parts_max> pieces;
  std::size_t count = 0;
  for (const std::string_view part : parts) {
    // The system only reads from it.
    if (!part.empty()) pieces.at(count++) = {.iov_base = const_cast<char*>(part.data()), .iov_len = part.size()};
  }
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = count;
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void drop_front(std::span<std::string_view> parts, std::size_t size) {
  for (std::string_view& part : parts) {
    const std::size_t of_part = std::min(size, part.size());
    part.remove_prefix(of_part);
    size -= of_part;
  }
}

}  // namespace

Connection::Connection(Socket socket, Ticker& ticker)
    : socket_(std::move(socket)), watch_(ticker, [this] { miss(when_late_); }) {
  if (socket_.is_open()) send_at_once(socket_);
}

// close() means that the connection was cut. Otherwise TLS tells the peer that this is a proper end.
Connection::~Connection() {
  if (tls_ != nullptr && socket_.is_open()) tls_->say_end();
}

Attempted<void> Connection::connect(asio::ip::tcp::endpoint endpoint) {
  const auto [error] = co_await socket_.async_connect(endpoint, quietly);
  if (error) co_return failed(late_ ? Failure::timed_out : Failure::unreachable);
  send_at_once(socket_);
  co_return Try<void>();
}

void Connection::make_room() {
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
}

Attempted<void> Connection::fill() {
  if (tls_ != nullptr) co_return co_await fill_tls();
  make_room();
  const auto room = asio::buffer(buffer_.data() + to_, buffer_.size() - to_);
  const auto [error, size] = co_await socket_.async_read_some(room, quietly);
  if (error) co_return failed(reason(error));
  // Closed by us while the bytes were on their way to here: whoever sent them could not be answered any more.
  if (!socket_.is_open()) co_return failed(reason(asio::error::bad_descriptor));
  to_ += size;
  co_return Try<void>();
}

void Connection::consume(std::size_t size) {
  from_ += size;
}

void Connection::give_room_back() {
  if (from_ != to_ || buffer_.size() <= buffer_bytes_first) return;
  std::string().swap(buffer_);
  from_ = to_ = 0;
}

Try<std::size_t> Connection::write_now(std::span<const std::string_view> parts) {
  const auto first = std::ranges::find_if_not(parts, &std::string_view::empty);
  const bool lone = std::all_of(std::next(first), parts.end(), [](std::string_view part) { return part.empty(); });
  const ssize_t size = lone ? ::send(socket_.native_handle(), first->data(), first->size(), MSG_NOSIGNAL | MSG_DONTWAIT)
                            : send_together(socket_.native_handle(), parts);
  if (size >= 0) return static_cast<std::size_t>(size);
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return 0;
  return failed(reason({errno, boost::system::system_category()}));
}

// The system nearly always takes all of it at once, without a wait.
Attempted<void> Connection::write(std::string_view first, std::string_view second, std::string_view third) {
  std::array<std::string_view, parts_max> parts{first, second, third};
  if (tls_ != nullptr) co_return co_await write_tls(parts);
  while (!std::ranges::all_of(parts, &std::string_view::empty)) {
    const Try<std::size_t> size = write_now(parts);
    if (!size) co_return failed(size.error());
    written_ += *size;
    drop_front(parts, *size);
    if (*size > 0) continue;
    runtime::failpoint("written-in-part");
    const auto [error] = co_await socket_.async_wait(Socket::wait_write, quietly);
    if (error) co_return failed(reason(error));
  }
  co_return Try<void>();
}

Attempted<bool> Connection::write_listening(std::string_view first, std::string_view second, Enough enough) {
  if (tls_ != nullptr) {
    const Try<void> sent = co_await write(first, second);
    if (!sent) co_return failed(sent.error());
    co_return true;
  }
  std::array<std::string_view, parts_max> parts{first, second, {}};
  bool listening = true;
  while (!std::ranges::all_of(parts, &std::string_view::empty)) {
    const Try<std::size_t> size = write_now(parts);
    if (!size) co_return failed(size.error());
    written_ += *size;
    drop_front(parts, *size);
    if (*size > 0) continue;
    runtime::failpoint("written-in-part");
    if (!listening) {
      const auto [error] = co_await socket_.async_wait(Socket::wait_write, quietly);
      if (error) co_return failed(reason(error));
      continue;
    }
    const Try<void> ready = co_await writable_or_readable();
    if (!ready) co_return failed(ready.error());
    const Arrival arrival = take_arrived();
    if (arrival == Arrival::bytes && enough(unread())) co_return false;
    listening = arrival != Arrival::end && unread().size() < listened_bytes_max;
  }
  co_return true;
}

Connection::Arrival Connection::take_arrived() {
  if (tls_ != nullptr || !socket_.is_open()) return Arrival::end;
  make_room();
  const ssize_t size = ::recv(socket_.native_handle(), buffer_.data() + to_, buffer_.size() - to_, MSG_DONTWAIT);
  if (size < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? Arrival::nothing : Arrival::end;
  if (size == 0) return Arrival::end;
  to_ += static_cast<std::size_t>(size);
  return Arrival::bytes;
}

Attempted<void> Connection::writable_or_readable() {
  // The reactor tells of changes only: what came before nobody waited for it would be missed.
  pollfd now{.fd = socket_.native_handle(), .events = POLLIN | POLLOUT, .revents = 0};
  if (::poll(&now, 1, 0) > 0) co_return Try<void>();
  auto waits = asio::experimental::make_parallel_group(socket_.async_wait(Socket::wait_write, asio::deferred),
                                                       socket_.async_wait(Socket::wait_read, asio::deferred));
  const auto [order, writable, readable] =
      co_await waits.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable_t<Executor>());
  const boost::system::error_code& first = order[0] == 0 ? writable : readable;
  if (first) co_return failed(reason(first));
  co_return Try<void>();
}

void Connection::miss(Lateness then) {
  late_ = true;
  if (then == Lateness::interrupt) {
    interrupt();
  } else {
    close();
  }
}

Failure Connection::reason(const boost::system::error_code& error) const {
  if (late_) return Failure::timed_out;
  return error == asio::error::eof ? Failure::closed : Failure::broken;
}

bool Connection::silent() {
  if (from_ != to_ || !socket_.is_open()) return false;
  if (tls_ != nullptr) return tls_->silent();
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
  if (tls_ != nullptr && socket_.is_open()) tls_->say_end();
  boost::system::error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
}

void Connection::close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

}  // namespace semel::http
