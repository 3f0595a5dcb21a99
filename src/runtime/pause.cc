#include "runtime/pause.h"

#include <memory>
#include <utility>

#include <boost/asio/async_result.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/intrusive/list.hpp>

#include <semel/async.h>
#include <semel/clock.h>

namespace semel::runtime {
namespace asio = boost::asio;

namespace {

// The pauses on an io_context. Used by its thread only, and afterwards by the thread that destroys it.
class Dormitory : public asio::execution_context::service {
 public:
  using key_type = Dormitory;
  inline static asio::execution_context::id id;

  explicit Dormitory(asio::execution_context& owner) : service(owner) {}

  void add(Pause& sleeper) { sleepers_.push_back(sleeper); }

 private:
  void shutdown() override {
    while (!sleepers_.empty()) sleepers_.front().abandon();
  }

  boost::intrusive::list<Pause, boost::intrusive::constant_time_size<false>> sleepers_;
};

}  // namespace

Task<void> Pause::wait(Millis limit) {
  if (rung_ || limit <= Millis{0}) co_return;
  const std::shared_ptr<Pause> self = shared_from_this();
  const Executor executor = co_await asio::this_coro::executor;
  const std::unique_ptr<Clock::Alarm> alarm = clock_.after(executor, limit, [self] { self->ring(); });
  auto suspend = [self](auto handler) { self->resume_ = std::move(handler); };
  asio::use_service<Dormitory>(executor.context()).add(*this);
  co_await asio::async_initiate<const asio::use_awaitable_t<Executor>&, void()>(std::move(suspend),
                                                                                asio::use_awaitable_t<Executor>());
}

void Pause::ring() {
  rung_ = true;
  unlink();
  if (auto resume = std::exchange(resume_, nullptr)) resume();
}

void Pause::abandon() {
  unlink();
  const auto dropped = std::exchange(resume_, nullptr);
}

namespace {

Task<void> wait_for(std::shared_ptr<Pause> pause, Millis time) {
  co_await pause->wait(time);
}

}  // namespace

Task<void> sleep(Clock& clock, Millis time) {
  return wait_for(std::make_shared<Pause>(clock), time);
}

}  // namespace semel::runtime
