// The life of a connection: idle, head, handler, rest of the body, again.
#include "http/session.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/beast/http/status.hpp>

#include "core/json/writer.h"
#include "http/connection.h"
#include "http/failure.h"
#include "http/head.h"
#include "http/parser.h"
#include "http/strict.h"
#include "http/ticker.h"
#include "http/transaction.h"
#include "http/writer.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::http {
namespace {

constexpr std::size_t drained_bytes_max = 65'536;  // of a body that the handler did not read
constexpr Millis linger_time{10'000};              // for all that a client still sends after a last answer
constexpr Millis linger_pause{1'000};              // of them with nothing arriving
constexpr Millis first_grace{500};  // for the first request of a connection that came while we are ending
constexpr std::string_view empty_line = "\r\n";

constexpr std::string_view no_room =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n";

// Why the request is refused; nothing if it is not, or if the client is gone.
std::optional<HeadFault> fault_of(const Try<void>& read, const Head& head) {
  if (read) return fault_of(head);
  switch (read.error()) {
    case Failure::malformed:
      return HeadFault{.status = 400, .detail = "The request is not valid HTTP/1.1."};
    case Failure::too_large:
      return HeadFault{.status = 431, .detail = "The request line and the header fields are over the limit."};
    case Failure::long_target:
      return HeadFault{.status = 414, .detail = "The target of the request is over the limit."};
    case Failure::timed_out:
      return HeadFault{.status = 408, .detail = "The rest of the request did not arrive in time."};
    default:
      return std::nullopt;
  }
}

// An RFC 9457 problem without a type of its own.
std::string problem_body(const HeadFault& fault) {
  const auto title = boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(fault.status));
  std::string body;
  core::json::JsonWriter(body)
      .begin_object()
      .text("type", "about:blank")
      .text("title", {title.data(), title.size()})
      .number("status", fault.status)
      .text("detail", fault.detail)
      .text("retry", "never")
      .end_object();
  body += '\n';
  return body;
}

}  // namespace

Session::Session(std::unique_ptr<Connection> connection, RequestHandler& handler, SessionLimits limits,
                 const std::atomic<bool>& draining)
    : connection_(std::move(connection)),
      handler_(handler),
      limits_(limits),
      draining_(draining),
      peer_(connection_->peer_address()) {}

Task<void> Session::run() {
  Next next = Next::request;
  while (next == Next::request) {
    next = co_await serve_one();
    transaction_.reset();
  }
}

Task<void> Session::turn_away() {
  const Try<void> told = co_await connection_->write(no_room);
  static_cast<void>(told);  // the connection is closed either way
}

Task<Session::Next> Session::serve_one() {
  parser_.emplace(head_, limits_.head);
  const Try<void> read = co_await read_head(&*parser_);
  const std::optional<HeadFault> fault = fault_of(read, head_);
  if (!read && !fault) co_return Next::close;

  transaction_.emplace(*connection_, *parser_, head_, out_, peer_, limits_.body_time, limits_.body_rate_min);
  connection_->deadline().expect_nothing();
  if (fault) {
    co_await refuse(*fault, &*transaction_);
    co_return Next::close;
  }
  if (draining_) transaction_->close_after();
  co_await handler_.handle(*transaction_);
  transaction_->silence();
  if (transaction_->status_sent() == 0) co_return Next::close;

  if (transaction_->close_wanted()) {
    if (!transaction_->body_read()) co_await linger();
    co_return Next::close;
  }
  if (!transaction_->body_read()) {
    Transaction* const client = &*transaction_;
    const bool usable = co_await drained(client);
    if (!usable) {
      co_await linger();
      co_return Next::close;
    }
  }
  transaction_->release_body();
  co_return Next::request;
}

Attempted<void> Session::read_head(RequestParser* parser) {
  Connection& connection = *connection_;
  if (connection.unread().empty()) {
    connection.give_room_back();
    connection.deadline().idle(limits_.idle_time, served_ ? Millis{0} : first_grace);
    served_ = true;
    const Try<void> first = co_await connection.fill();
    connection.deadline().busy();
    if (!first) co_return failed(Failure::closed);  // there is no request to answer
  }
  connection.deadline().expect_within(limits_.head_time);
  // One empty line before a request is not an error (RFC 9112 §2.2).
  if (connection.unread() == "\r") {
    const Try<void> more = co_await wait_for_head();
    if (!more) co_return failed(more.error());
  }
  if (connection.unread().starts_with(empty_line)) connection.consume(empty_line.size());
  for (;;) {
    const Try<std::size_t> taken = parser->read_head(connection.unread());
    if (!taken) co_return failed(taken.error());
    connection.consume(*taken);
    if (parser->head_done()) co_return Try<void>();
    if (first_line_is_bare(connection.unread())) co_return failed(Failure::malformed);
    const Try<void> more = co_await wait_for_head();
    if (!more) co_return failed(more.error());
  }
}

// A client that has sent half a head is told that the rest came too late.
Attempted<void> Session::wait_for_head() {
  Connection& connection = *connection_;
  if (connection.deadline().late()) co_return failed(Failure::timed_out);
  connection.when_late(Lateness::interrupt);
  const Try<void> more = co_await connection.fill();
  connection.when_late(Lateness::close);
  co_return more;
}

Task<void> Session::refuse(HeadFault fault, Transaction* client) {
  client->close_after();
  const auto fields = [](HeadWriter& head) { head.field("Content-Type", "application/problem+json"); };
  const std::string body = problem_body(fault);
  handler_.refused(fault.status);
  const Try<void> told = co_await client->reply(fault.status, fields, body);
  if (told) co_await linger();
}

// Whether the connection can carry another request.
Task<bool> Session::drained(Transaction* client) {
  std::size_t seen = 0;
  while (!client->body_read()) {
    const Try<std::string_view> piece = co_await client->read_body();
    if (!piece) co_return false;
    seen += piece->size();
    if (seen > drained_bytes_max) co_return false;
  }
  co_return true;
}

// The client may still be sending; closing now would reset the connection before it has read the answer, and most
// clients read only after they have sent everything. Bounded by time, not by bytes: a body is as long as it is.
Task<void> Session::linger() {
  connection_->shut_down_writing();
  Ticker::Watch& deadline = connection_->deadline();
  const Millis end = deadline.now() + linger_time;
  for (;;) {
    const Millis left = end - deadline.now();
    if (left <= Millis{0}) co_return;
    deadline.expect_within(std::min(left, linger_pause));
    const Try<void> more = co_await connection_->fill();
    if (!more) co_return;
    connection_->consume(connection_->unread().size());
  }
}

}  // namespace semel::http
