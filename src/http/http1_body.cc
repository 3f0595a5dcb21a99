// Reading the body of an HTTP/1 request: in pieces or whole, within its deadline and its limit.
#include "http/http1_body.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <boost/beast/core/string.hpp>

#include "http/connection.h"
#include "http/deadline.h"
#include "http/failure.h"
#include "http/head.h"

namespace semel::http {
namespace {

constexpr std::string_view invitation = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::size_t read_ahead_bytes_max = 65'536;

// One deadline for the whole body, not one for each piece.
class Gathering {
 public:
  explicit Gathering(Deadline& deadline) : deadline_(deadline) { deadline_.await_whole_body(); }
  ~Gathering() { deadline_.whole_body_came(); }
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;

 private:
  Deadline& deadline_;
};

}  // namespace

bool Http1Body::awaits_invitation() const {
  if (invited_ || parser_.done() || head_.version() < 11 || !connection_.unread().empty()) return false;
  const auto expect = head_.find("Expect");
  return expect && boost::beast::iequals(*expect, "100-continue");
}

Attempted<void> Http1Body::invite() {
  const bool awaited = awaits_invitation();
  invited_ = true;
  if (!awaited) co_return Try<void>();
  co_return co_await connection_.write(invitation);
}

// The next piece, without waiting: empty at the end of the body, and if the piece has not arrived yet.
Try<std::string_view> Http1Body::at_hand() {
  release();
  while (!parser_.done()) {
    const auto piece = parser_.read_body(connection_.unread());
    if (!piece) return failed(piece.error());
    if (!piece->data.empty()) {
      unconsumed_ = piece->consumed;
      return piece->data;
    }
    connection_.consume(piece->consumed);
    if (piece->consumed == 0) break;
  }
  return std::string_view();
}

Attempted<void> Http1Body::wait() {
  const Try<void> invited = co_await invite();
  if (!invited) co_return failed(invited.error());
  if (deadline_.late()) co_return failed(Failure::timed_out);
  if (deadline_.awaits_whole_body()) co_return co_await connection_.fill();
  const std::size_t had = connection_.unread().size();
  deadline_.await_piece();
  const Try<void> filled = co_await connection_.fill();
  deadline_.piece_came(connection_.unread().size() - had);
  co_return filled;
}

Attempted<std::string_view> Http1Body::read() {
  for (;;) {
    const Try<std::string_view> piece = at_hand();
    if (!piece || !piece->empty() || parser_.done()) co_return piece;
    const Try<void> more = co_await wait();
    if (!more) co_return failed(more.error());
  }
}

Attempted<std::string> Http1Body::read_whole(std::size_t bytes_max) {
  const Gathering gathering(deadline_);
  std::string body;
  if (head_.framing() == Framing::length) {
    if (head_.length() > bytes_max) co_return failed(Failure::too_large);
    body.reserve(std::min<std::size_t>(head_.length(), read_ahead_bytes_max));
  }
  for (;;) {
    const Try<std::string_view> piece = at_hand();
    if (!piece) co_return failed(piece.error());
    if (body.size() + piece->size() > bytes_max) co_return failed(Failure::too_large);
    body.append(*piece);
    if (!piece->empty()) continue;
    if (parser_.done()) co_return body;
    const Try<void> more = co_await wait();
    if (!more) co_return failed(more.error());
  }
}

}  // namespace semel::http
