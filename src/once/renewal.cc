#include "once/renewal.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel {
namespace {

constexpr int attempts_per_lease = 10;  // while the store does not answer
constexpr Millis delay_min{1};

}  // namespace

struct Renewal::State : std::enable_shared_from_this<State> {
  State(Store& the_store, Clock& the_clock, Executor where, Key the_key, Fence the_fence, Millis the_lease)
      : store(the_store),
        clock(the_clock),
        executor(std::move(where)),
        key(std::move(the_key)),
        fence(the_fence),
        lease(the_lease) {}

  void arm(int parts_of_lease) {
    alarm = clock.after(executor, std::max(delay_min, lease / parts_of_lease), [self = weak_from_this()] {
      if (const auto state = self.lock()) boost::asio::co_spawn(state->executor, renew(state), boost::asio::detached);
    });
  }

  static Task<void> renew(std::shared_ptr<State> state) {
    const Result<void> renewed = co_await state->store.renew(state->key, state->fence, state->lease);
    if (state->stopped) co_return;
    if (renewed) {
      state->arm(renewals_per_lease);
    } else if (renewed.error().code != Code::fenced) {
      state->arm(attempts_per_lease);
    }
  }

  Store& store;
  Clock& clock;
  const Executor executor;
  const Key key;
  const Fence fence;
  const Millis lease;
  std::unique_ptr<Clock::Alarm> alarm;
  bool stopped = false;
};

Renewal::Renewal(Store& store, Clock& clock, Executor executor, Key key, Fence fence, Millis lease)
    : state_(std::make_shared<State>(store, clock, std::move(executor), std::move(key), fence, lease)) {
  state_->arm(renewals_per_lease);
}

Renewal::~Renewal() {
  state_->stopped = true;
  state_->alarm.reset();
}

}  // namespace semel
