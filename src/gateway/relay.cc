// Two coroutines for one request: the body goes up in one while the answer comes down in the other.
#include "gateway/relay.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/async_result.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "core/ascii.h"
#include "core/check.h"
#include "http/call.h"
#include "http/failure.h"
#include "http/head.h"
#include "http/transaction.h"
#include "http/upstream.h"
#include "http/writer.h"
#include "policy/forward.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::gateway {
namespace {

namespace asio = boost::asio;

// The request's body on its way up, beside the answer on its way down.
class Upload {
 public:
  Upload(http::Transaction& client, http::Call& call) : client_(client), call_(call) {}

  static Task<void> run(std::shared_ptr<Upload> self) {
    co_await self->pump();
    self->ended_ = true;
    if (auto resume = std::exchange(self->resume_, nullptr)) resume();
  }

  [[nodiscard]] bool whole() const { return whole_; }
  // Why the client's part of it failed; nothing if it did not.
  [[nodiscard]] std::optional<http::Failure> failure() const { return failure_; }

  // Ends it, wherever it is, and waits until it has ended.
  Task<void> stop() {
    if (ended_) co_return;
    stopped_ = true;
    client_.stop_reading();
    core::check(resume_ == nullptr, "one coroutine waits for the end of a relay");
    auto suspend = [this](auto handler) { resume_ = std::move(handler); };
    co_await asio::async_initiate<const asio::use_awaitable_t<Executor>&, void()>(std::move(suspend),
                                                                                  asio::use_awaitable_t<Executor>());
  }

 private:
  Task<void> pump() {
    const bool chunked = client_.head().framing() == http::Framing::chunked;
    for (;;) {
      const http::Try<std::string_view> piece = co_await client_.read_body();
      if (!piece) {
        fail(piece.error());
        co_return;
      }
      if (piece->empty()) break;
      std::string start;
      if (chunked) http::append_chunk_start(start, piece->size());
      const std::string_view end = chunked ? http::chunk_end : std::string_view();
      const http::Try<void> sent = co_await call_.send_more(start, *piece, end);
      if (!sent) co_return;
    }
    if (chunked) {
      const http::Try<void> ended = co_await call_.send_more(http::last_chunk);
      if (!ended) co_return;
    }
    whole_ = true;
  }

  // The upstream must not wait for a body that will never be whole. An answer that has begun may still end.
  void fail(http::Failure why) {
    if (stopped_) return;
    failure_ = why;
    if (client_.status_sent() == 0) call_.interrupt();
  }

  http::Transaction& client_;
  http::Call& call_;
  std::optional<http::Failure> failure_;
  bool stopped_ = false;
  bool ended_ = false;
  bool whole_ = false;
  std::move_only_function<void()> resume_;
};

RelayEnd end_of(http::CallEnd end) {
  switch (end) {
    case http::CallEnd::answered:
      return RelayEnd::answered;
    case http::CallEnd::not_reached:
      return RelayEnd::not_reached;
    case http::CallEnd::timed_out:
      return RelayEnd::timed_out;
    case http::CallEnd::lost:
      break;
  }
  return RelayEnd::lost;
}

RelayEnd end_of(http::Failure of_upload) {
  if (of_upload == http::Failure::malformed) return RelayEnd::malformed;
  return of_upload == http::Failure::timed_out ? RelayEnd::slow_body : RelayEnd::gone;
}

}  // namespace

Relay::Relay(http::Transaction& client, http::Upstream& upstream, Millis timeout, WriteAnswer write_answer)
    : client_(client), upstream_(upstream), timeout_(timeout), write_answer_(std::move(write_answer)) {}

Task<RelayEnd> Relay::run(std::string head, std::string_view body, Again again) {
  for (;;) {
    call_ = std::make_unique<http::Call>(upstream_, timeout_);
    if (client_.is_head()) call_->expect_no_body();
    if (silence_) call_->accept_switch();
    const http::CallEnd sent = co_await call_->send(head, body);
    if (sent != http::CallEnd::answered) co_return end_of(sent);
    if (!client_.body_read()) co_return co_await exchange_both_ways();

    const RelayEnd end = co_await carry_answer();
    const bool stale = end == RelayEnd::lost && call_->stale();
    if (stale && std::exchange(again, Again::never) == Again::repeatable) continue;
    call_->finish();
    co_return end;
  }
}

Task<RelayEnd> Relay::exchange_both_ways() {
  const auto upload = std::make_shared<Upload>(client_, *call_);
  const Executor executor = co_await asio::this_coro::executor;
  asio::co_spawn(executor, Upload::run(upload), asio::detached);
  const RelayEnd end = co_await carry_answer();
  if (end != RelayEnd::answered) call_->interrupt();
  co_await upload->stop();
  if (upload->failure() && end != RelayEnd::answered && client_.status_sent() == 0)
    co_return end_of(*upload->failure());
  if (upload->whole()) {
    call_->finish();
  } else {
    client_.close_after();  // the upstream answered early: what is left of the body has nowhere to go
  }
  co_return end;
}

Task<RelayEnd> Relay::carry_websocket(Millis silence) {
  const http::Head& answer = call_->head();
  if (!core::equal_ignoring_case(answer.find("Upgrade").value_or(""), policy::websocket)) co_return RelayEnd::lost;
  const auto fields = [&](http::HeadWriter& out) { write_answer_(answer, out); };
  co_await client_.switch_protocol(policy::websocket, fields, call_->connection(), silence);
  co_return RelayEnd::answered;
}

Task<RelayEnd> Relay::carry_answer() {
  const http::CallEnd head = co_await call_->read_head();
  if (head != http::CallEnd::answered) co_return end_of(head);
  if (silence_ && call_->switched()) co_return co_await carry_websocket(*silence_);
  const http::Head& answer = call_->head();
  const http::Try<std::string_view> first = call_->body_at_hand();
  if (!first) co_return RelayEnd::lost;
  const auto fields = [&](http::HeadWriter& out) { write_answer_(answer, out); };
  const http::Transaction::Form form{.framing = answer.framing(), .length = answer.length()};
  http::Try<void> sent = co_await client_.start_reply(answer.status(), fields, form, *first);
  while (sent) {
    client_.await_more();
    const http::Try<std::string_view> piece = co_await call_->read_body();
    if (!piece) {
      client_.cut_reply();
      co_return RelayEnd::cut;
    }
    if (piece->empty()) {
      sent = co_await client_.end_reply();
      break;
    }
    sent = co_await client_.continue_reply(*piece);
  }
  if (sent) co_return RelayEnd::answered;
  client_.close_after();
  co_return sent.error() == http::Failure::timed_out ? RelayEnd::not_taken : RelayEnd::answered;
}

}  // namespace semel::gateway
