// One request of a client and the reply to it: all that a handler sees of HTTP, whatever version of it is spoken.
//
// The head has come when a handler gets a transaction. The body is read when the handler asks for it, whole or piece by
// piece; `Expect: 100-continue` is answered at that moment and not before, so a handler that refuses a request never
// invites its body. The reply goes out in one go or piece by piece, and may begin before the body has been read.
//
// Each transaction has a deadline of its own: for the client to send its body, for the client to take the reply, or, in
// between, for whatever the handler waits for (alarm). Transactions that share a connection share no deadline.
//
// Everything is called on executor(). At most one coroutine reads and at most one replies; they may be two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/function_ref.h"
#include "http/failure.h"
#include "http/head.h"
#include "http/writer.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::http {

class Connection;

// The body of the request.
class BodyReader {
 public:
  // Returns the next piece, valid until the next call; empty at the end. Failure::timed_out: the client sends too
  // slowly. That can still be replied to, unless a reply has begun.
  virtual Attempted<std::string_view> read_body() = 0;

  // Returns all of it. Failure::too_large: there are more than `bytes_max` bytes; returned as soon as that is known.
  // Failure::timed_out: not all of it came in time. Both can still be replied to.
  virtual Attempted<std::string> read_whole_body(std::size_t bytes_max) = 0;

  // Ends a read that another coroutine has under way, with Failure::broken.
  virtual void stop_reading() = 0;

  // Whether there is nothing left to read.
  [[nodiscard]] virtual bool body_read() const = 0;

 protected:
  ~BodyReader() = default;
};

// The reply. Failure::timed_out: the client takes it too slowly.
class ReplyWriter {
 public:
  // Writes all fields but those of framing, with HeadWriter::field(). Called before reply() or start_reply() returns.
  using WriteFields = core::FunctionRef<void(HeadWriter&)>;

  // Replies in one go. `body` must stay valid until the task has ended.
  virtual Attempted<void> reply(std::uint16_t status, WriteFields fields, std::string_view body) = 0;

  // How long the body of a reply will be, as far as that is known.
  struct Form {
    Framing framing = Framing::none;
    std::uint64_t length = 0;  // if the framing is by length
  };
  // Replies piece by piece; `first` is the beginning of the body. continue_reply() sends what follows, end_reply() ends
  // it. The pieces must stay valid until their task has ended.
  virtual Attempted<void> start_reply(std::uint16_t status, WriteFields fields, Form form, std::string_view first) = 0;
  virtual Attempted<void> continue_reply(std::string_view data) = 0;
  virtual Attempted<void> end_reply() = 0;

  // To be called when a piece has gone out, before waiting for the next one: the client is not to blame for that time.
  virtual void await_more() = 0;

 protected:
  ~ReplyWriter() = default;
};

class Transaction : public BodyReader, public ReplyWriter {
 public:
  // What is known when the head has come. Head and texts outlive the transaction.
  struct Facts {
    const Head& head;
    std::string_view peer;            // the client's address
    std::string_view client_subject;  // of its certificate, which has been verified; empty if there is none
    bool encrypted = false;
    Executor executor;
  };

  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  [[nodiscard]] const Head& head() const { return facts_.head; }
  [[nodiscard]] bool is_head() const { return head().method() == "HEAD"; }
  [[nodiscard]] std::string_view peer() const { return facts_.peer; }
  [[nodiscard]] std::string_view client_subject() const { return facts_.client_subject; }
  [[nodiscard]] bool encrypted() const { return facts_.encrypted; }
  [[nodiscard]] Executor executor() const { return facts_.executor; }

  // Calls `ring` once after `time`, unless silence() comes first. For a time in which nothing is read or written: a
  // read or a reply needs the deadline for itself, and takes the alarm back.
  virtual void alarm(Millis time, std::function<void()> ring) = 0;
  virtual void silence() = 0;

  // The status of the reply, once it has begun; 0 before.
  [[nodiscard]] virtual std::uint16_t status_sent() const = 0;
  // Something went wrong in the middle of a reply: the client must notice.
  virtual void cut_reply() = 0;
  // The client's connection is not to be used again after this transaction.
  virtual void close_after() = 0;
  // The reply has been sent, and the client is not to wait until the handler has ended.
  virtual void end_sending() = 0;

  // Agrees to go on with another protocol, then carries its bytes both ways between the client and `other` until
  // both have closed, one of them breaks, or nothing has moved for `silence_max`. Neither can carry HTTP afterwards.
  virtual Task<void> switch_protocol(std::string_view protocol, WriteFields fields, Connection& other,
                                     Millis silence_max) = 0;

 protected:
  explicit Transaction(const Facts& facts) : facts_(facts) {}
  ~Transaction() = default;

 private:
  const Facts facts_;
};

}  // namespace semel::http
