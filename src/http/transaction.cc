// What a handler can do with a request: take its body, answer it.
#include "http/transaction.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/beast/core/string.hpp>

#include "http/connection.h"
#include "http/failure.h"
#include "http/head.h"
#include "http/ticker.h"
#include "http/writer.h"
#include <semel/clock.h>

namespace semel::http {
namespace {

constexpr std::string_view invitation = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::uint16_t switching_protocols = 101;
constexpr std::size_t read_ahead_bytes_max = 65'536;

}  // namespace

// Whether the client holds its body back until it is told to go on.
bool Transaction::awaits_invitation() const {
  if (invited_ || parser_.done() || head_.version() < 11 || !connection_.unread().empty()) return false;
  const auto expect = head_.find("Expect");
  return expect && boost::beast::iequals(*expect, "100-continue");
}

Attempted<void> Transaction::invite_body() {
  const bool awaited = awaits_invitation();
  invited_ = true;
  if (!awaited) co_return Try<void>();
  co_return co_await connection_.write(invitation);
}

// The next piece, without waiting: empty at the end of the body, and if the piece has yet to arrive.
Try<std::string_view> Transaction::body_at_hand() {
  release_body();
  while (!parser_.done()) {
    const auto piece = parser_.read_body(connection_.unread());
    if (!piece) return failed(piece.error());
    if (!piece->data.empty()) {
      unconsumed_ = piece->consumed;
      return piece->data;
    }
    connection_.consume(piece->consumed);
    if (piece->consumed == 0) break;
  }
  return std::string_view();
}

Attempted<void> Transaction::wait_for_body() {
  const Try<void> invited = co_await invite_body();
  if (!invited) co_return failed(invited.error());
  if (connection_.deadline().late()) co_return failed(Failure::timed_out);
  if (gathering_) co_return co_await connection_.fill();
  Ticker::Watch& deadline = connection_.deadline();
  const Millis began = deadline.now();
  const std::size_t had = connection_.unread().size();
  reading_ = true;
  connection_.when_late([this] { status_sent_ == 0 ? connection_.interrupt() : connection_.close(); });
  deadline.expect_within(sends_.left());
  const Try<void> filled = co_await connection_.fill();
  reading_ = false;
  connection_.when_late(nullptr);
  sends_.moved(connection_.unread().size() - had, deadline.now() - began);
  if (writing_) {
    deadline.expect_within(takes_.left());
  } else {
    deadline.expect_nothing();
  }
  co_return filled;
}

Attempted<std::string_view> Transaction::read_body() {
  for (;;) {
    const Try<std::string_view> piece = body_at_hand();
    if (!piece || !piece->empty() || parser_.done()) co_return piece;
    const Try<void> more = co_await wait_for_body();
    if (!more) co_return failed(more.error());
  }
}

Transaction::Gathering::Gathering(Transaction& transaction) : transaction_(transaction) {
  Connection& connection = transaction_.connection_;
  transaction_.gathering_ = true;
  connection.when_late([&connection] { connection.interrupt(); });
  connection.deadline().expect_within(transaction_.patience_);
}

Transaction::Gathering::~Gathering() {
  transaction_.connection_.deadline().expect_nothing();
  transaction_.connection_.when_late(nullptr);
  transaction_.gathering_ = false;
}

Attempted<std::string> Transaction::read_whole_body(std::size_t bytes_max) {
  const Gathering gathering(*this);
  std::string body;
  if (head_.framing() == Framing::length) {
    if (head_.length() > bytes_max) co_return failed(Failure::too_large);
    body.reserve(std::min<std::size_t>(head_.length(), read_ahead_bytes_max));
  }
  for (;;) {
    const Try<std::string_view> piece = body_at_hand();
    if (!piece) co_return failed(piece.error());
    if (body.size() + piece->size() > bytes_max) co_return failed(Failure::too_large);
    body.append(*piece);
    if (!piece->empty()) continue;
    if (parser_.done()) co_return body;
    const Try<void> more = co_await wait_for_body();
    if (!more) co_return failed(more.error());
  }
}

bool Transaction::has_no_body(std::uint16_t status) const {
  return is_head() || status == 204 || status == 304;
}

// HTTP/1.0 closes unless told otherwise.
void Transaction::end_head(HeadWriter& head) const {
  if (close_wanted()) {
    head.close();
  } else if (head_.version() < 11) {
    head.keep_alive();
  }
  head.end();
}

Attempted<void> Transaction::reply(std::uint16_t status, WriteFields fields, std::string_view body) {
  status_sent_ = status;
  if (awaits_invitation()) close_ = true;  // whether its body still comes, nobody can tell
  connection_.deadline().expect_within(patience_);
  out_.clear();
  HeadWriter head = HeadWriter::response(out_, status);
  fields(head);
  if (status != 204 && status != 304) head.length(body.size());
  end_head(head);
  if (has_no_body(status)) body = {};
  if (body.size() > joined_bytes_max) return connection_.write(out_, body);
  out_.append(body);
  return connection_.write(out_);
}

Attempted<void> Transaction::start_reply(std::uint16_t status, WriteFields fields, Form form, std::string_view first) {
  status_sent_ = status;
  bodiless_ = has_no_body(status);
  out_.clear();
  HeadWriter head = HeadWriter::response(out_, status);
  fields(head);
  if (form.framing == Framing::length && status != 204) {
    head.length(form.length);
  } else if (!bodiless_ && form.framing != Framing::none && head_.version() >= 11) {
    chunked_ = true;
    head.chunked();
  } else if (!bodiless_ && form.framing != Framing::none) {
    close_ = true;
  } else if (form.framing == Framing::none && !bodiless_) {
    head.length(0);
  }
  end_head(head);
  return write_piece(first);
}

Attempted<void> Transaction::continue_reply(std::string_view data) {
  out_.clear();
  return write_piece(data);
}

void Transaction::await_more() {
  writing_ = false;
  takes_.moved(piece_bytes_, connection_.deadline().now() - piece_began_);
  if (!reading_) connection_.deadline().expect_nothing();
}

// What stands in out_ goes with it.
Attempted<void> Transaction::write_piece(std::string_view data) {
  writing_ = true;
  piece_began_ = connection_.deadline().now();
  piece_bytes_ = out_.size() + data.size();
  if (!reading_) connection_.deadline().expect_within(takes_.left());
  if (bodiless_) data = {};
  if (!chunked_ || data.empty()) return connection_.write(out_, data);
  append_chunk_start(out_, data.size());
  return connection_.write(out_, data, chunk_end);
}

Attempted<void> Transaction::switch_protocol(std::string_view protocol, WriteFields fields) {
  status_sent_ = switching_protocols;
  close_ = true;
  connection_.deadline().expect_within(patience_);
  out_.clear();
  HeadWriter head = HeadWriter::response(out_, switching_protocols);
  fields(head);
  head.field("Connection", "Upgrade").field("Upgrade", protocol);
  head.end();
  return connection_.write(out_);
}

Attempted<void> Transaction::end_reply() {
  if (!reading_) connection_.deadline().expect_within(takes_.left());
  return connection_.write(chunked_ ? last_chunk : std::string_view());
}

}  // namespace semel::http
