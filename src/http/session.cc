#include "http/session.h"

#include <memory>
#include <string>
#include <utility>

namespace semel::http {
namespace {

constexpr std::size_t drained_bytes_max = 65'536;  // of a body that nobody wanted
constexpr Millis linger_time{1'000};

constexpr std::string_view bad_request =
    R"({"type":"about:blank","title":"Bad Request","status":400,"detail":"The request is not valid HTTP/1.1."})";
constexpr std::string_view head_too_large =
    R"({"type":"about:blank","title":"Request Header Fields Too Large","status":431,"detail":"The request line and header fields are over the limit."})";

Attempt<void> refuse(Transaction& transaction, Failure failure) {
  transaction.close_after();
  const bool large = failure == Failure::too_large;
  const auto fields = [](HeadWriter& head) { head.field("Content-Type", "application/problem+json"); };
  co_return co_await transaction.reply(large ? 431 : 400, fields, large ? head_too_large : bad_request);
}

Attempt<void> read_head(Connection& connection, RequestParser& parser, SessionLimits limits) {
  if (connection.unread().empty()) {
    connection.deadline().idle(limits.idle_time);
    const Try<void> first = co_await connection.fill();
    connection.deadline().busy();
    if (!first) co_return failed(first.error());
  }
  connection.deadline().expect_within(limits.head_time);
  for (;;) {
    const Try<std::size_t> taken = parser.read_head(connection.unread());
    if (!taken) co_return failed(taken.error());
    connection.consume(*taken);
    if (parser.head_done()) co_return Try<void>();
    const Try<void> more = co_await connection.fill();
    if (!more) co_return failed(more.error());
  }
}

// Whether the connection can carry another request.
Task<bool> drained(Transaction& transaction) {
  std::size_t seen = 0;
  while (!transaction.body_read()) {
    const Try<std::string_view> piece = co_await transaction.read_body();
    if (!piece) co_return false;
    seen += piece->size();
    if (seen > drained_bytes_max) co_return false;
  }
  co_return true;
}

// The client may still be sending; closing now could reset the connection before it has read the answer.
Task<void> linger(Connection& connection) {
  connection.shut_down_writing();
  connection.deadline().expect_within(linger_time);
  std::size_t seen = 0;
  while (seen < drained_bytes_max) {
    const Try<void> more = co_await connection.fill();
    if (!more) co_return;
    seen += connection.unread().size();
    connection.consume(connection.unread().size());
  }
}

}  // namespace

Task<void> serve(std::unique_ptr<Connection> connection, Handler& handler, SessionLimits limits,
                 const std::atomic<bool>& draining) {
  const std::string peer = connection->peer_address();
  Head head;
  std::string out;
  for (;;) {
    RequestParser parser(head, {.head_bytes = limits.head_bytes});
    const Try<void> read = co_await read_head(*connection, parser, limits);
    Transaction transaction(*connection, parser, head, out, peer);
    if (!read && (read.error() == Failure::closed || read.error() == Failure::timed_out)) co_return;
    connection->deadline().expect_within(limits.body_time);
    if (!read) {
      const Try<void> refused = co_await refuse(transaction, read.error());
      if (refused) co_await linger(*connection);
      co_return;
    }
    if (draining) transaction.close_after();
    co_await handler.handle(transaction);
    if (transaction.status_sent() == 0) co_return;
    connection->deadline().expect_within(limits.body_time);
    if (transaction.close_wanted()) {
      if (!transaction.body_read()) co_await linger(*connection);
      co_return;
    }
    const bool usable = co_await drained(transaction);
    if (!usable) co_return;
  }
}

}  // namespace semel::http
