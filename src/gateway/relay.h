// A request that is not guarded: streamed to the upstream and its answer streamed back, both at once, nothing kept.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/call.h"
#include "http/head.h"
#include "http/transaction.h"
#include "http/upstream.h"
#include "http/writer.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::gateway {

enum class RelayEnd : std::uint8_t {
  answered,
  not_reached,  // nothing was sent to the upstream, and nothing to the client
  timed_out,    // sent, no answer; nothing was sent to the client
  lost,         // as above, but the connection broke
  cut,          // the answer broke off in the middle; so did the client's connection
  gone,         // the client left in the middle of its body
  malformed,    // its body was not framed as it should be; nothing was sent to the client
  slow_body,    // or did not come in time
  not_taken,    // the client did not take the answer in time
};

class Relay {
 public:
  // Writes the fields of the upstream's answer, without framing, as the client is to see them.
  using WriteAnswer = std::function<void(const http::Head& answer, http::HeadWriter& out)>;

  Relay(http::Transaction& client, http::Upstream& upstream, Millis timeout, WriteAnswer write_answer);

  // The request asks for a WebSocket: if the upstream agrees, bytes go both ways until nothing moves for `silence`.
  void accept_websocket(Millis silence) { silence_ = silence; }

  // `head` is the whole head of the request to the upstream. `body` is all of the body if the client's has been read;
  // otherwise it is empty, the head is framed as the client's is, and the body is streamed. `body` must stay valid
  // until the task has ended. A `repeatable` request is sent again when a pooled connection turns out to have been
  // closed (RFC 9110 §9.2.2).
  enum class Again : std::uint8_t { never, repeatable };
  Task<RelayEnd> run(std::string head, std::string_view body, Again again);

 private:
  Task<RelayEnd> carry_answer();
  Task<RelayEnd> exchange_both_ways();
  Task<RelayEnd> carry_websocket(Millis silence);

  http::Transaction& client_;
  http::Upstream& upstream_;
  const Millis timeout_;
  WriteAnswer write_answer_;
  std::optional<Millis> silence_;
  std::unique_ptr<http::Call> call_;
};

}  // namespace semel::gateway
