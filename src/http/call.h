// One request to an upstream and its answer.
//
// The difference between "not one byte was sent" and everything else is what a key's fate hangs on, so it is kept here:
// a request is repeated by itself only on a pooled connection that took no byte of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/connection.h"
#include "http/failure.h"
#include "http/head.h"
#include "http/parser.h"
#include "http/upstream.h"

namespace semel::http {

enum class CallEnd : std::uint8_t {
  answered,     // the head of the answer is there
  not_reached,  // not one byte of the request went out
  timed_out,    // sent, at least in part, and no answer in time
  lost,         // sent, at least in part, and the connection broke or the answer is not HTTP
};

class Call {
 public:
  Call(Upstream& upstream, Millis timeout) : upstream_(upstream), timeout_(timeout) {}

  // The answer of a HEAD request has no body whatever its fields say.
  void expect_no_body() { no_body_ = true; }

  // An answer of 101 is one, and the connection then carries another protocol.
  void accept_switch() { may_switch_ = true; }
  [[nodiscard]] bool switched() const;
  [[nodiscard]] Connection& connection() { return link_->connection(); }

  // Sends what there is (all of it, or a head whose body follows by send_more) on a connection that takes it.
  Task<CallEnd> send(std::string_view head, std::string_view body);
  Attempted<void> send_more(std::string_view first, std::string_view second = {}, std::string_view third = {});

  // Reads up to the end of the answer's head; interim answers are passed over.
  Task<CallEnd> read_head();
  // Whether read_head() failed before anything came back on a connection that had been used before: an upstream that
  // closed an idle connection just then. Only harmless requests may be sent again after that.
  [[nodiscard]] bool stale() const { return stale_; }

  [[nodiscard]] const Head& head() const { return head_; }

  // The next piece of the body, valid until the next call; empty at its end. Failure::malformed if it was cut off.
  Attempted<std::string_view> read_body();
  // The same without waiting: empty also if the piece has yet to arrive.
  Try<std::string_view> body_at_hand();
  // The body, or its beginning: stops as soon as it is over `bytes_max`. What follows can be read with read_body().
  Attempted<std::string> read_body_up_to(std::size_t bytes_max);
  [[nodiscard]] bool complete() const { return parser_ && parser_->done(); }

  // Lets the connection be used again, if the answer was read to its end and both sides agree.
  void finish();
  // Ends a send that another coroutine has under way.
  void interrupt() { link_->connection().close(); }

 private:
  void renew_parser();
  Task<CallEnd> read_repaired_head();

  Upstream& upstream_;
  Millis timeout_;
  std::unique_ptr<Upstream::Link> link_;
  Head head_;
  std::optional<ResponseParser> parser_;
  std::size_t unconsumed_ = 0;  // of the piece handed out last
  bool no_body_ = false;
  bool may_switch_ = false;
  bool stale_ = false;
  bool ended_by_close_ = false;
};

}  // namespace semel::http
