#include "http/tunnel.h"

#include <functional>
#include <memory>
#include <utility>

#include <boost/asio/async_result.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "http/connection.h"
#include "http/failure.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::http {
namespace {

namespace asio = boost::asio;

// One of the two directions. Bytes in either direction show that both sides are alive.
class Direction {
 public:
  Direction(Connection& from, Connection& to, Millis silence) : from_(from), to_(to), silence_(silence) {}

  static Task<void> run(std::shared_ptr<Direction> self) {
    const Try<void> carried = co_await self->carry();
    if (!carried) {
      self->from_.close();
      self->to_.close();
    }
    self->ended_ = true;
    if (auto resume = std::exchange(self->resume_, nullptr)) resume();
  }

  Task<void> end() {
    if (ended_) co_return;
    auto suspend = [this](auto handler) { resume_ = std::move(handler); };
    co_await asio::async_initiate<const asio::use_awaitable_t<Executor>&, void()>(std::move(suspend),
                                                                                  asio::use_awaitable_t<Executor>());
  }

 private:
  // Until `from` has closed in good order. Then `to` is told, and may go on sending.
  Attempted<void> carry() {
    for (;;) {
      from_.deadline().expect_within(silence_);
      to_.deadline().expect_within(silence_);
      if (!from_.unread().empty()) {
        const Try<void> sent = co_await to_.write(from_.unread());
        if (!sent) co_return failed(sent.error());
        from_.consume(from_.unread().size());
      }
      const Try<void> filled = co_await from_.fill();
      if (filled) continue;
      if (filled.error() != Failure::closed) co_return failed(filled.error());
      to_.shut_down_writing();
      co_return Try<void>();
    }
  }

  Connection& from_;
  Connection& to_;
  const Millis silence_;
  bool ended_ = false;
  std::move_only_function<void()> resume_;
};

}  // namespace

Task<void> tunnel(Connection* one, Connection* other, Millis silence) {
  const Executor executor = co_await asio::this_coro::executor;
  const auto back = std::make_shared<Direction>(*other, *one, silence);
  asio::co_spawn(executor, Direction::run(back), asio::detached);
  co_await Direction::run(std::make_shared<Direction>(*one, *other, silence));
  co_await back->end();
}

}  // namespace semel::http
