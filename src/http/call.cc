// The order of sending and failing matters here: see the note on bytes written in call.h.
#include "http/call.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "http/connection.h"
#include "http/failure.h"
#include "http/parser.h"
#include "http/strict.h"
#include "http/upstream.h"
#include "runtime/failpoint.h"
#include <semel/async.h>

namespace semel::http {
namespace {

constexpr std::uint16_t switching_protocols = 101;
constexpr std::uint16_t final_from = 200;
constexpr int interims_max = 32;  // before the final answer

// Those that are known (100 Continue, 102 Processing, 103 Early Hints, 104 Upload Resumption Supported). What else is
// below 200 may be anything, and what comes behind it could be taken for the answer.
bool is_interim(std::uint16_t status) {
  return status == 100 || (status >= 102 && status <= 104);
}
constexpr std::string_view head_end = "\r\n\r\n";
constexpr std::size_t status_at = 9;  // behind "HTTP/1.1 "

// Whether an upstream that has not heard all of a request has answered for good, with something else than a success: it
// wants no more. One that begins a success may read on while it answers.
bool turns_down(std::string_view unread) {
  for (;;) {
    const std::size_t end = unread.find(head_end);
    if (end == std::string_view::npos || unread.size() < status_at + 3) return false;
    const char first = unread[status_at];
    if (first != '1') return first >= '3';
    unread.remove_prefix(end + head_end.size());
  }
}

}  // namespace

CallEnd Call::ended_by(Failure failure) {
  failure_ = failure;
  return failure == Failure::timed_out ? CallEnd::timed_out : CallEnd::lost;
}

Task<CallEnd> Call::send(std::string_view head, std::string_view body) {
  const auto enough = [](std::string_view unread) { return turns_down(unread); };
  for (Upstream::Use use = Upstream::Use::pooled;; use = Upstream::Use::fresh) {
    link_ = use == Upstream::Use::pooled ? upstream_.pooled() : nullptr;
    if (link_ == nullptr) {
      Try<std::unique_ptr<Upstream::Link>> link = co_await upstream_.link(use);
      if (!link) {
        failure_ = link.error();
        co_return CallEnd::not_reached;
      }
      link_ = *std::move(link);
    }
    Connection& connection = link_->connection();
    connection.reset_written();
    connection.deadline().expect_within(timeout_);
    runtime::failpoint("upstream-connected");
    const Try<bool> sent = co_await connection.write_listening(head, body, enough);
    cut_short_ = !sent || !*sent;
    if (sent) co_return CallEnd::answered;
    if (connection.written() > 0) {
      // The upstream may have answered and closed; then the answer is here. It counts only if it is one.
      const bool spoke = sent.error() == Failure::broken && connection.take_arrived() == Connection::Arrival::bytes;
      co_return spoke || !connection.unread().empty() ? CallEnd::answered : ended_by(sent.error());
    }
    failure_ = sent.error();
    if (!link_->reused()) co_return CallEnd::not_reached;
  }
}

Attempted<void> Call::send_more(std::string_view first, std::string_view second, std::string_view third) {
  link_->connection().deadline().expect_within(timeout_);
  return link_->connection().write(first, second, third);
}

void Call::renew_parser() {
  parser_.emplace(head_, ParserLimits{});
  if (no_body_) parser_->expect_no_body();
}

// A space before a colon is the only mistake that is corrected. To correct it, the whole head is needed.
Task<CallEnd> Call::read_repaired_head() {
  Connection& connection = link_->connection();
  std::size_t end = connection.unread().find(head_end);
  while (end == std::string_view::npos && connection.unread().size() < ParserLimits{}.head_bytes) {
    const Try<void> more = co_await connection.fill();
    if (!more) co_return ended_by(more.error());
    end = connection.unread().find(head_end);
  }
  if (end == std::string_view::npos) co_return CallEnd::lost;
  const std::size_t size = end + head_end.size();
  const std::optional<std::string> repaired = without_space_before_colons(connection.unread().substr(0, size));
  if (!repaired) co_return CallEnd::lost;
  renew_parser();
  const Try<std::size_t> taken = parser().read_head(*repaired);
  if (!taken || !parser().head_done()) co_return CallEnd::lost;
  connection.consume(size);
  co_return CallEnd::answered;
}

Task<CallEnd> Call::read_head() {
  Connection& connection = link_->connection();
  for (int interims = 0;;) {
    renew_parser();
    if (connection.unread().empty()) {
      const Try<void> filled = co_await connection.fill();
      if (!filled) {
        stale_ = link_->reused() && filled.error() != Failure::timed_out && interims == 0;
        co_return ended_by(filled.error());
      }
    }
    std::size_t parsed = 0;
    for (;;) {
      const Try<std::size_t> taken = parser().read_head(connection.unread().substr(parsed));
      if (!taken && (taken.error() != Failure::malformed || head_.status() == 0)) co_return CallEnd::lost;
      if (!taken) {
        const CallEnd repaired = co_await read_repaired_head();
        if (repaired != CallEnd::answered) co_return repaired;
        break;
      }
      parsed += *taken;
      if (parser().head_done()) {
        connection.consume(parsed);
        break;
      }
      const Try<void> more = co_await connection.fill();
      if (!more) co_return ended_by(more.error());
    }
    if (head_.status() == switching_protocols) co_return may_switch_ ? CallEnd::answered : CallEnd::lost;
    if (head_.status() >= final_from) co_return CallEnd::answered;
    if (!is_interim(head_.status()) || ++interims > interims_max) co_return CallEnd::lost;
  }
}

Try<std::string_view> Call::body_at_hand() {
  Connection& connection = link_->connection();
  connection.consume(std::exchange(unconsumed_, 0));
  while (!parser().done() && !connection.unread().empty()) {
    const auto piece = parser().read_body(connection.unread());
    if (!piece) return failed(Failure::malformed);
    if (!piece->data.empty()) {
      unconsumed_ = piece->consumed;
      return piece->data;
    }
    connection.consume(piece->consumed);
    if (piece->consumed == 0) break;
  }
  return std::string_view();
}

Attempted<std::string_view> Call::read_body() {
  Connection& connection = link_->connection();
  for (;;) {
    const Try<std::string_view> piece = body_at_hand();
    if (!piece || !piece->empty() || parser().done()) co_return piece;
    connection.deadline().expect_within(timeout_);
    const Try<void> filled = co_await connection.fill();
    if (filled) continue;
    if (filled.error() != Failure::closed) co_return failed(filled.error());
    const Try<void> proper = parser().read_end();
    if (!proper) co_return failed(Failure::malformed);
    ended_by_close_ = true;
  }
}

Attempted<std::string> Call::read_body_up_to(std::size_t bytes_max) {
  std::string body;
  for (;;) {
    Try<std::string_view> piece = body_at_hand();
    if (piece && piece->empty() && !parser().done()) piece = co_await read_body();
    if (!piece) co_return failed(piece.error());
    if (piece->empty()) co_return body;
    body.append(*piece);
    if (!parser().done()) runtime::failpoint("answer-read-in-part");
    if (body.size() > bytes_max) co_return body;
  }
}

bool Call::switched() const {
  return head_.status() == switching_protocols;
}

void Call::finish() {
  if (!complete() || switched()) return;
  link_->connection().consume(std::exchange(unconsumed_, 0));
  if (head_.keep_alive() && !ended_by_close_ && !cut_short_) link_->keep();
  link_.reset();
}

}  // namespace semel::http
