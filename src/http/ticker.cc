#include "http/ticker.h"

#include <functional>
#include <memory>
#include <utility>

#include <boost/asio/async_result.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <semel/async.h>
#include <semel/clock.h>

namespace semel::http {

Ticker::Watch::Watch(Ticker& ticker, std::function<void()> on_late) : ticker_(ticker), on_late_(std::move(on_late)) {
  ticker_.watches_.push_back(*this);
}

void Ticker::Watch::cut() {
  due_ = never;
  late_ = true;
  on_late_();
}

Ticker::Ticker(Clock& clock, Executor executor) : clock_(clock), executor_(std::move(executor)) {}

Ticker::~Ticker() {
  watches_.clear();
}

void Ticker::start() {
  alarm_ = clock_.after(executor_, period, [this] { tick(); });
}

void Ticker::stop() {
  alarm_.reset();
  wake();
}

Task<void> Ticker::next() {
  if (!alarm_) co_return;
  auto suspend = [this](auto handler) { sleepers_.emplace_back(std::move(handler)); };
  co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<Executor>&, void()>(
      std::move(suspend), boost::asio::use_awaitable_t<Executor>());
}

void Ticker::wake() {
  for (auto& resume : std::exchange(sleepers_, {})) resume();
}

void Ticker::tick() {
  ++tick_;
  for (auto it = watches_.begin(); it != watches_.end();) {
    Watch& watch = *it++;
    if (watch.due_ <= tick_) watch.cut();
  }
  start();
  wake();
}

void Ticker::cut_idle() {
  for (auto it = watches_.begin(); it != watches_.end();) {
    Watch& watch = *it++;
    if (watch.idle_ && tick_ >= watch.spared_until_) watch.cut();
  }
}

}  // namespace semel::http
