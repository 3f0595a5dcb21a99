// The body of an HTTP/1 request, read from its connection when it is asked for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "http/connection.h"
#include "http/deadline.h"
#include "http/failure.h"
#include "http/head.h"
#include "http/parser.h"

namespace semel::http {

class Http1Body {
 public:
  // `parser` has read `head`. All outlive this.
  Http1Body(Connection& connection, RequestParser& parser, const Head& head, Deadline& deadline)
      : connection_(connection), parser_(parser), head_(head), deadline_(deadline) {}

  // As BodyReader says of its functions.
  Attempted<std::string_view> read();
  Attempted<std::string> read_whole(std::size_t bytes_max);
  [[nodiscard]] bool done() const { return parser_.done(); }

  // Gives up the piece that read() returned last.
  void release() { connection_.consume(std::exchange(unconsumed_, 0)); }
  // Whether the client holds its body back until it is told to go on.
  [[nodiscard]] bool awaits_invitation() const;

 private:
  Try<std::string_view> at_hand();
  Attempted<void> wait();
  Attempted<void> invite();

  Connection& connection_;
  RequestParser& parser_;
  const Head& head_;
  Deadline& deadline_;
  std::size_t unconsumed_ = 0;  // of the piece that read() returned last
  bool invited_ = false;
};

}  // namespace semel::http
