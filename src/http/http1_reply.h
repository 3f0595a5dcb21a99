// The reply to an HTTP/1 request: its head, its framing, and whether the connection may carry another request after it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "http/connection.h"
#include "http/deadline.h"
#include "http/failure.h"
#include "http/head.h"
#include "http/transaction.h"
#include "http/writer.h"

namespace semel::http {

class Http1Reply {
 public:
  using WriteFields = ReplyWriter::WriteFields;
  using Form = ReplyWriter::Form;

  // `head` is the request's; `out` is a buffer to write heads in. All outlive this.
  Http1Reply(Connection& connection, const Head& head, std::string& out, Deadline& deadline)
      : connection_(connection), head_(head), out_(out), deadline_(deadline) {}

  // As ReplyWriter says of its functions. Without a length the body is chunked; for a client of HTTP/1.0 it ends with
  // the connection.
  Attempted<void> send(std::uint16_t status, WriteFields fields, std::string_view body);
  Attempted<void> start(std::uint16_t status, WriteFields fields, Form form, std::string_view first);
  Attempted<void> go_on(std::string_view data);
  Attempted<void> end();
  // 101: the connection carries another protocol from then on.
  Attempted<void> switch_protocol(std::string_view protocol, WriteFields fields);

  [[nodiscard]] std::uint16_t status() const { return status_; }
  void close_after() { close_ = true; }
  [[nodiscard]] bool close_wanted() const { return close_ || !head_.keep_alive(); }

 private:
  [[nodiscard]] bool has_no_body(std::uint16_t status) const;
  void end_head(HeadWriter& head) const;
  Attempted<void> write_piece(std::string_view data);

  Connection& connection_;
  const Head& head_;
  std::string& out_;
  Deadline& deadline_;
  std::uint16_t status_ = 0;
  bool close_ = false;
  bool chunked_ = false;
  bool bodiless_ = false;
};

}  // namespace semel::http
