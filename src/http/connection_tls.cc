// The encrypted side of a connection: make a step, wait for what the step wants, repeat.
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>

#include "http/connection.h"
#include "http/failure.h"
#include "http/tls.h"
#include <semel/async.h>

namespace semel::http {
namespace {

namespace asio = boost::asio;

constexpr std::size_t record_bytes_max = 16'384;
constexpr auto quietly = asio::as_tuple(asio::use_awaitable_t<Executor>());

// Takes as much from the front of the parts as one record holds, so that a head and its body share one.
std::string next_record(std::array<std::string_view, 3>& parts) {
  std::string record;
  for (std::string_view& part : parts) {
    const std::size_t size = std::min(part.size(), record_bytes_max - record.size());
    record.append(part.substr(0, size));
    part.remove_prefix(size);
  }
  return record;
}

}  // namespace

Attempted<void> Connection::accept_tls(std::shared_ptr<const TlsContext> context) {
  tls_ = Tls::accept(std::move(context), socket_.native_handle());
  return shake_hands();
}

Attempted<void> Connection::connect_tls(std::shared_ptr<const TlsContext> context, const std::string& host) {
  tls_ = Tls::connect(std::move(context), socket_.native_handle(), host);
  return shake_hands();
}

Attempted<void> Connection::shake_hands() {
  boost::system::error_code ignored;
  socket_.native_non_blocking(true, ignored);
  for (;;) {
    const Try<Tls::Step> step = tls_->shake_hands();
    if (!step) co_return failed(step.error());
    if (step->want == Tls::Want::nothing) co_return Try<void>();
    const Try<void> ready = co_await ready_for(step->want);
    if (!ready) co_return failed(ready.error());
  }
}

Attempted<void> Connection::fill_tls() {
  while (socket_.is_open()) {
    make_room();
    const Try<Tls::Step> step = tls_->read(std::span(buffer_).subspan(to_));
    if (!step) co_return failed(step.error());
    to_ += step->size;
    if (step->want == Tls::Want::nothing) co_return Try<void>();
    if (to_ == 0 && watch_.resting())
      std::string().swap(buffer_);  // OpenSSL takes enough memory for an idle connection
    const Try<void> ready = co_await ready_for(step->want);
    if (!ready) co_return failed(ready.error());
  }
  co_return failed(reason(asio::error::bad_descriptor));
}

Attempted<void> Connection::write_tls(std::array<std::string_view, 3> parts) {
  for (std::string record = next_record(parts); !record.empty(); record = next_record(parts)) {
    std::string_view rest = record;
    while (!rest.empty()) {
      if (!socket_.is_open()) co_return failed(reason(asio::error::bad_descriptor));
      const Try<Tls::Step> step = tls_->write(rest);
      if (!step) co_return failed(step.error());
      written_ += step->size;
      rest.remove_prefix(step->size);
      if (step->want == Tls::Want::nothing) continue;
      written_ = std::max<std::size_t>(written_, 1);  // a part of the record may be on its way
      const Try<void> ready = co_await ready_for(step->want);
      if (!ready) co_return failed(ready.error());
    }
  }
  co_return Try<void>();
}

// The session is not touched once the socket is closed: its number may belong to another connection by then.
Attempted<void> Connection::ready_for(Tls::Want want) {
  const auto what = want == Tls::Want::read ? Socket::wait_read : Socket::wait_write;
  const auto [error] = co_await socket_.async_wait(what, quietly);
  if (error) co_return failed(reason(error));
  if (!socket_.is_open()) co_return failed(reason(asio::error::bad_descriptor));
  co_return Try<void>();
}

}  // namespace semel::http
