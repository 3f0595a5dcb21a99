#include "store/postgres/heartbeat.h"

#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include "runtime/pause.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::store::postgres {

Heartbeat::Heartbeat(Clock& clock, Millis every, std::function<Task<void>()> beat)
    : every_(every), beat_(std::move(beat)), clock_(clock) {}

void Heartbeat::stop() {
  if (!thread_.joinable()) return;
  boost::asio::post(context_, [this] {
    ending_ = true;
    if (pause_ != nullptr) pause_->ring();
  });
  thread_.join();
}

void Heartbeat::start() {
  std::call_once(started_, [this] {
    boost::asio::co_spawn(context_, go_on(), boost::asio::detached);
    thread_ = std::thread([this] { context_.run(); });
  });
}

Task<void> Heartbeat::go_on() {
  while (!ending_) {
    co_await beat_();
    if (ending_) co_return;
    pause_ = std::make_shared<runtime::Pause>(clock_);
    co_await pause_->wait(every_);
  }
}

}  // namespace semel::store::postgres
