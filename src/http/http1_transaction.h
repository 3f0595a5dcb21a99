// A transaction of HTTP/1.0 or 1.1: the one that a connection carries at the moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "http/connection.h"
#include "http/deadline.h"
#include "http/failure.h"
#include "http/head.h"
#include "http/http1_body.h"
#include "http/http1_reply.h"
#include "http/parser.h"
#include "http/ticker.h"
#include "http/transaction.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::http {

class Http1Transaction final : public Transaction {
 public:
  // `parser` has read `head`; `out` is a buffer for the reply. All outlive this. `patience` and `rate_min`: see
  // Deadline.
  Http1Transaction(Connection& connection, RequestParser& parser, const Head& head, std::string& out,
                   std::string_view peer, Millis patience, std::uint64_t rate_min);

  Attempted<std::string_view> read_body() override { return body_.read(); }
  Attempted<std::string> read_whole_body(std::size_t bytes_max) override { return body_.read_whole(bytes_max); }
  void stop_reading() override { connection_.interrupt(); }
  [[nodiscard]] bool body_read() const override { return body_.done(); }

  Attempted<void> reply(std::uint16_t status, WriteFields fields, std::string_view body) override;
  Attempted<void> start_reply(std::uint16_t status, WriteFields fields, Form form, std::string_view first) override;
  Attempted<void> continue_reply(std::string_view data) override { return reply_.go_on(data); }
  Attempted<void> end_reply() override { return reply_.end(); }
  void await_more() override { deadline_.piece_taken(); }

  void alarm(Millis time, std::function<void()> ring) override { deadline_.alarm(time, std::move(ring)); }
  void silence() override { deadline_.silence(); }

  [[nodiscard]] std::uint16_t status_sent() const override { return reply_.status(); }
  void cut_reply() override { connection_.close(); }
  void close_after() override { reply_.close_after(); }
  void end_sending() override { connection_.shut_down_writing(); }
  Task<void> switch_protocol(std::string_view protocol, WriteFields fields, Connection& other,
                             Millis silence_max) override;

  // For the session: whether the connection may carry another request, and the end of the piece that was read last.
  [[nodiscard]] bool close_wanted() const { return reply_.close_wanted(); }
  void release_body() { body_.release(); }

 private:
  Task<void> carry(Attempted<void> agreed, Connection* other, Millis silence_max);

  Connection& connection_;
  Deadline deadline_;
  Http1Body body_;
  Http1Reply reply_;
};

}  // namespace semel::http
