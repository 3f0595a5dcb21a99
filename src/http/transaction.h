// One request of a client and its answer.
//
// The request's body is read when asked for, whole or piece by piece; `Expect: 100-continue` is answered at that moment
// and not before, so whoever refuses a request never invites its body.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/function_ref.h"
#include "http/connection.h"
#include "http/failure.h"
#include "http/head.h"
#include "http/pace.h"
#include "http/parser.h"
#include "http/writer.h"

namespace semel::http {

class Transaction {
 public:
  Transaction(Connection& connection, RequestParser& parser, const Head& head, std::string& out, std::string_view peer,
              Millis patience, std::uint64_t rate_min)
      : connection_(connection),
        parser_(parser),
        head_(head),
        out_(out),
        peer_(peer),
        patience_(patience),
        sends_(patience, rate_min),
        takes_(patience, rate_min) {}

  [[nodiscard]] const Head& head() const { return head_; }
  [[nodiscard]] std::string_view peer() const { return peer_; }
  [[nodiscard]] bool encrypted() const { return connection_.encrypted(); }
  [[nodiscard]] std::string_view client_subject() const { return connection_.client_subject(); }
  [[nodiscard]] Executor executor() { return connection_.executor(); }
  [[nodiscard]] bool is_head() const { return head_.method() == "HEAD"; }

  // The next piece of the body, valid until the next call; empty at its end. timed_out can still be answered unless an
  // answer has begun.
  Attempted<std::string_view> read_body();
  // Failure::too_large as soon as it is known that there are more than `bytes_max`; timed_out if all of it is not there
  // in time. Both can still be answered.
  Attempted<std::string> read_whole_body(std::size_t bytes_max);

  // The answer in one go. `fields` writes all fields but those of framing.
  using WriteFields = core::FunctionRef<void(HeadWriter&)>;
  Attempted<void> reply(std::uint16_t status, WriteFields fields, std::string_view body);

  // The answer piece by piece; `first` is what is known of the body. Without a length it is chunked, or ends with the
  // connection for an HTTP/1.0 client.
  struct Form {
    Framing framing = Framing::none;
    std::uint64_t length = 0;
  };
  Attempted<void> start_reply(std::uint16_t status, WriteFields fields, Form form, std::string_view first);
  Attempted<void> continue_reply(std::string_view data);
  Attempted<void> end_reply();
  // To be called when a piece has gone out, before waiting for the next: the client is not to blame for that time.
  void await_more();
  // Agrees to go on with `protocol` on connection(), which is of no use for HTTP from then on.
  Attempted<void> switch_protocol(std::string_view protocol, WriteFields fields);
  [[nodiscard]] Connection& connection() { return connection_; }
  // Something went wrong in the middle: the client must notice.
  void cut_reply() { connection_.close(); }

  // Calls `ring` after `time`, unless silence() comes first. For the time in which nothing is read or written.
  void alarm(Millis time, std::function<void()> ring) {
    connection_.when_late(std::move(ring));
    connection_.deadline().expect_within(time);
  }
  void silence() {
    connection_.deadline().expect_nothing();
    connection_.when_late(nullptr);
  }

  // Ends a read of the body that another coroutine has under way.
  void stop_reading() { connection_.interrupt(); }

  [[nodiscard]] std::uint16_t status_sent() const { return status_sent_; }
  // Nothing more can be done on this connection.
  void close_after() { close_ = true; }
  // The answer has been sent, and the client is not to wait for the connection to be closed.
  void end_sending() { connection_.shut_down_writing(); }
  [[nodiscard]] bool close_wanted() const { return close_ || !head_.keep_alive(); }
  [[nodiscard]] bool body_read() const { return parser_.done(); }
  // Gives up the piece that read_body() handed out last.
  void release_body() { connection_.consume(std::exchange(unconsumed_, 0)); }

 private:
  // One deadline for the whole body, not one for each piece; when it passes, the client can still be answered.
  class Gathering {
   public:
    explicit Gathering(Transaction& transaction);
    ~Gathering();
    Gathering(const Gathering&) = delete;
    Gathering& operator=(const Gathering&) = delete;

   private:
    Transaction& transaction_;
  };

  Try<std::string_view> body_at_hand();
  Attempted<void> wait_for_body();
  Attempted<void> invite_body();
  [[nodiscard]] bool has_no_body(std::uint16_t status) const;
  void end_head(HeadWriter& head) const;
  [[nodiscard]] bool awaits_invitation() const;
  Attempted<void> write_piece(std::string_view data);

  Connection& connection_;
  RequestParser& parser_;
  const Head& head_;
  std::string& out_;
  std::string_view peer_;
  const Millis patience_;  // while we are busy it may be as long as it likes
  Pace sends_;             // with each piece that the client sends
  Pace takes_;             // and with each that it takes
  Millis piece_began_{0};
  std::size_t piece_bytes_ = 0;
  bool reading_ = false;  // both may be under way at once; they share the deadline
  bool writing_ = false;
  std::size_t unconsumed_ = 0;  // of the piece handed out last
  std::uint16_t status_sent_ = 0;
  bool invited_ = false;
  bool gathering_ = false;
  bool close_ = false;
  bool chunked_ = false;
  bool bodiless_ = false;
};

}  // namespace semel::http
