// A connection from its first byte to its last, in arbitrary pieces, through the real session: the answers do not
// depend on the pieces, each of them is a whole HTTP/1.1 answer, and behind one that says `close` there is none.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include "core/check.h"
#include "fuzz/conversation.h"
#include "http/failure.h"
#include "http/head.h"
#include "http/session.h"
#include "http/ticker.h"
#include "http/transaction.h"
#include "http/writer.h"
#include "support/virtual_clock.h"
#include <semel/async.h>

namespace {

using semel::Task;
using semel::core::check;
namespace http = semel::http;

constexpr std::size_t body_bytes_max = 1'000;
constexpr std::string_view invitation = "HTTP/1.1 100 Continue\r\n\r\n";

// Answers with what it got: the whole of it, or piece by piece if the target says so.
class Echo : public http::RequestHandler {
 public:
  Task<void> handle(http::Transaction& transaction) override { return answer(&transaction); }

 private:
  static Task<void> answer(http::Transaction* client) {
    const auto fields = [&](http::HeadWriter& out) { out.field("X-Target", client->head().target()); };
    if (!client->head().target().starts_with("/stream")) {
      const http::Try<std::string> body = co_await client->read_whole_body(body_bytes_max);
      if (!body) client->close_after();
      const std::uint16_t status = body ? 200 : body.error() == http::Failure::too_large ? 413 : 400;
      const std::string_view answer = body ? std::string_view(*body) : "no";
      const http::Try<void> sent = co_await client->reply(status, fields, answer);
      static_cast<void>(sent);
      co_return;
    }
    std::string all;  // pieces go out as they come in, so only their sum can be compared
    for (;;) {
      const http::Try<std::string_view> piece = co_await client->read_body();
      if (!piece) co_return;
      if (piece->empty()) break;
      all.append(*piece);
    }
    const http::Transaction::Form form{.framing = http::Framing::chunked, .length = 0};
    http::Try<void> sent = co_await client->start_reply(200, fields, form, all);
    if (sent) sent = co_await client->end_reply();
    if (!sent) client->close_after();
  }
};

std::string answers_to(std::string_view input, std::size_t step) {
  boost::asio::io_context context;
  semel::test::VirtualClock clock;
  http::Ticker ticker(clock, context.get_executor());
  Echo echo;
  semel::fuzz::Conversation conversation(context, ticker, echo, {.head = {.head_bytes = 4096}});
  std::string said = conversation.run(input, step);
  for (std::size_t at = said.find(invitation); at != std::string::npos; at = said.find(invitation, at)) {
    said.erase(at, invitation.size());  // whether one is needed does depend on what has come already
  }
  return said;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string whole = answers_to(input, size + 1);
  const std::string bytes = answers_to(input, 1);
  const std::string pieces = answers_to(input, 2 + size % 29);
  // Which answers have no body is not for this check to know, nor what an echo of an invitation is.
  if (input.find("HEAD") != std::string_view::npos || input.find("100 Continue") != std::string_view::npos) return 0;
  const auto taken = semel::fuzz::taken_in(whole);
  check(semel::fuzz::taken_in(bytes) == taken, "it does not matter in which pieces requests come");
  check(semel::fuzz::taken_in(pieces) == taken, "whatever their size");
  return 0;
}
