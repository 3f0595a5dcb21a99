// One request to an upstream and its answer.
//
// Whether a key can be released depends on one fact: not one byte of the request was sent. This class keeps track of
// it. By itself it sends a request again only if a pooled connection took no byte of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/check.h"
#include "http/connection.h"
#include "http/failure.h"
#include "http/head.h"
#include "http/parser.h"
#include "http/upstream.h"

namespace semel::http {

enum class CallEnd : std::uint8_t {
  answered,     // the head of the answer has come
  not_reached,  // not one byte of the request went out
  timed_out,    // sent, at least in part, and no answer in time
  lost,         // sent, at least in part, and the connection broke or the answer is not HTTP
};

class Call {
 public:
  Call(Upstream& upstream, Millis timeout) : upstream_(upstream), timeout_(timeout) {}

  // The request is HEAD: its answer has no body, whatever its fields say.
  void expect_no_body() { no_body_ = true; }

  // Accepts 101 as an answer. The connection then carries another protocol.
  void accept_switch() { may_switch_ = true; }
  [[nodiscard]] bool switched() const;
  [[nodiscard]] Connection& connection() { return link_->connection(); }

  // Sends the request on a connection that takes it: all of it, or a head whose body follows with send_more(). Returns
  // `answered` if read_head() comes next. An upstream may answer before it has heard all, and then hears no more.
  Task<CallEnd> send(std::string_view head, std::string_view body);
  Attempted<void> send_more(std::string_view first, std::string_view second = {}, std::string_view third = {});

  // Reads the answer's head. Interim answers (1xx) are skipped.
  Task<CallEnd> read_head();
  // Whether read_head() failed before anything came back, on a connection that had been used before: the upstream
  // closed an idle connection at that moment. After that only harmless requests may be sent again.
  [[nodiscard]] bool stale() const { return stale_; }
  // What ended a call that was not answered.
  [[nodiscard]] Failure failure() const { return failure_; }

  [[nodiscard]] const Head& head() const { return head_; }

  // Returns the next piece of the body, valid until the next call; empty at its end. Failure::malformed: cut off.
  Attempted<std::string_view> read_body();
  // The same without waiting: empty also if the piece has not arrived yet.
  Try<std::string_view> body_at_hand();
  // Returns the body, or its beginning: stops as soon as it has more than `bytes_max`. read_body() then reads the rest.
  Attempted<std::string> read_body_up_to(std::size_t bytes_max);
  [[nodiscard]] bool complete() const { return parser_ && parser_->done(); }

  // Puts the connection back into the pool, if the answer was read to its end and both sides keep it alive.
  void finish();
  // Ends a send that another coroutine has under way.
  void interrupt() { link_->connection().close(); }

 private:
  void renew_parser();
  ResponseParser& parser() { return core::present(parser_, "an answer is read after its head was asked for"); }
  Task<CallEnd> read_repaired_head();
  CallEnd ended_by(Failure failure);

  Upstream& upstream_;
  Millis timeout_;
  std::unique_ptr<Upstream::Link> link_;
  Head head_;
  std::optional<ResponseParser> parser_;  // null until an answer is awaited
  std::size_t unconsumed_ = 0;            // of the piece that was returned last
  bool no_body_ = false;
  bool may_switch_ = false;
  bool stale_ = false;
  bool ended_by_close_ = false;
  Failure failure_ = Failure::malformed;
  bool cut_short_ = false;  // the request did not go out whole, so the connection cannot carry another one
};

}  // namespace semel::http
