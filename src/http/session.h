// One connection from a client: request after request until somebody has had enough.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "http/connection.h"
#include "http/failure.h"
#include "http/head.h"
#include "http/parser.h"
#include "http/strict.h"
#include "http/transaction.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::http {

class RequestHandler {
 public:
  virtual ~RequestHandler() = default;
  // Answers the request; the transaction outlives the task. What is left unanswered closes the connection.
  virtual Task<void> handle(Transaction& transaction) = 0;
  // What came was no request that could be handled, and was answered with this status.
  virtual void refused(std::uint16_t status) { static_cast<void>(status); }
  // A client did not get through the TLS handshake.
  virtual void handshake_failed() {}
  // A client came while there was no room for one more.
  virtual void turned_away() {}
};

struct SessionLimits {
  ParserLimits head;
  Millis head_time{10'000};  // from its first byte to its last
  Millis body_time{60'000};  // for the body to arrive, and for the answer to be taken
  Millis idle_time{60'000};
  std::uint64_t body_rate_min = 0;  // bytes per second, of bodies that are streamed either way; 0: any
};

class Session {
 public:
  // `draining` is asked before each request.
  Session(std::unique_ptr<Connection> connection, RequestHandler& handler, SessionLimits limits,
          const std::atomic<bool>& draining);

  // Returns when the connection has ended.
  Task<void> run();
  // Tells the client that there is no room for it.
  Task<void> turn_away();

 private:
  enum class Next : std::uint8_t { request, close };
  Task<Next> serve_one();
  Attempted<void> read_head();
  Attempted<void> wait_for_head();
  Task<void> refuse(HeadFault fault);
  Task<void> linger();
  Task<bool> drained();

  std::unique_ptr<Connection> connection_;
  RequestHandler& handler_;
  const SessionLimits limits_;
  const std::atomic<bool>& draining_;
  const std::string peer_;
  Head head_;
  std::string out_;
  std::optional<RequestParser> parser_;
  std::optional<Transaction> transaction_;
};

}  // namespace semel::http
