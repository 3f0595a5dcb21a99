#include "gateway/store_watch.h"

#include <atomic>
#include <memory>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include "core/check.h"
#include "gateway/incoming.h"
#include "gateway/told.h"
#include "runtime/pause.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::gateway {
namespace {

namespace asio = boost::asio;

constexpr Millis a_day{86'400'000};  // sending an answer is bounded by limits of its own

}  // namespace

StoreWatch::StoreWatch(const Incoming& incoming, Millis time, LateAnswer late)
    : incoming_(incoming), time_(time), late_(std::move(late)) {}

void StoreWatch::start() {
  core::check(over_ == nullptr, "a store that was late is not asked again");
  incoming_.client.alarm(time_, [this] {
    over_ = std::make_shared<runtime::Pause>(incoming_.services.clock);
    // Later, not now: the ticker is going through its connections, and this may close some.
    asio::post(incoming_.client.executor(),
               [this] { asio::co_spawn(incoming_.client.executor(), answer(this), asio::detached); });
  });
}

bool StoreWatch::in_time() {
  if (over_ != nullptr) return false;
  incoming_.client.silence();
  return true;
}

Task<void> StoreWatch::answer(StoreWatch* self) {
  const Incoming& incoming = self->incoming_;
  incoming.services.metrics.store_errors.fetch_add(1, std::memory_order_relaxed);
  self->told_ = co_await self->late_();
  self->told_.close = true;
  co_await send(&incoming.client, &self->told_, &incoming.config().reply, &incoming.services.metrics);
  incoming.client.end_sending();
  self->told_.reply = AlreadySent{};
  self->over_->ring();
}

Task<Told> StoreWatch::told() {
  core::check(over_ != nullptr, "only a late store leaves an answer behind");
  co_await over_->wait(a_day);
  co_return std::move(told_);
}

}  // namespace semel::gateway
