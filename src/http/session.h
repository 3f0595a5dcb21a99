// One connection from a client: request after request, until either side ends it.
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
#include "http/http1_transaction.h"
#include "http/parser.h"
#include "http/strict.h"
#include "http/transaction.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::http {

class RequestHandler {
 public:
  virtual ~RequestHandler() = default;
  // Replies to the request. The transaction outlives the task. If there is no reply, the connection is closed.
  virtual Task<void> handle(Transaction& transaction) = 0;
  // A client sent something that is no valid request. It was answered with this status.
  virtual void refused(std::uint16_t status) { static_cast<void>(status); }
  // The TLS handshake with a client failed.
  virtual void handshake_failed() {}
  // A client came while there was no room for one more.
  virtual void turned_away() {}
};

struct SessionLimits {
  ParserLimits head;
  Millis head_time{10'000};  // from its first byte to its last
  Millis body_time{60'000};  // for the client to send the body, and to take the reply
  Millis idle_time{60'000};
  std::uint64_t body_rate_min = 0;  // bytes per second, of bodies that are streamed in either direction; 0: any
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
  Attempted<void> read_head(RequestParser* parser);
  Attempted<void> wait_for_head();
  Task<void> refuse(HeadFault fault, Transaction* client);
  Task<void> linger();
  static Task<bool> drained(Transaction* client);

  std::unique_ptr<Connection> connection_;
  RequestHandler& handler_;
  const SessionLimits limits_;
  const std::atomic<bool>& draining_;
  const std::string peer_;
  Head head_;
  std::string out_;
  std::optional<RequestParser> parser_;
  std::optional<Http1Transaction> transaction_;
  bool served_ = false;  // a request has been waited for
};

}  // namespace semel::http
