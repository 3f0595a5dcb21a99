// The alarm is set later, from the loop, so an action that never waits sets none. It is cancelled with the last
// renewal, so a loop that has nothing else to do ends.
#include "once/renewal.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/intrusive/set.hpp>

#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::once {
namespace asio = boost::asio;

namespace {

constexpr int attempts_per_lease = 10;  // while the store does not answer
constexpr Millis delay_min{1};

}  // namespace

// The renewals of one io_context and one clock that wait for their time.
class Renewal::Round {
 public:
  Round(Clock& clock, Executor executor) : clock_(clock), executor_(std::move(executor)) {}

  [[nodiscard]] Clock& clock() const { return clock_; }
  [[nodiscard]] const Executor& executor() const { return executor_; }

  void add(Renewal& renewal) {
    waiting_.insert(waiting_.end(), renewal);
    if (posted_ || (alarm_ != nullptr && rings_at_ <= renewal.due_)) return;
    posted_ = true;
    asio::post(executor_, [this] {
      posted_ = false;
      set_alarm();
    });
  }

  void remove(Renewal& renewal) {
    if (!renewal.is_linked()) return;
    waiting_.erase(waiting_.iterator_to(renewal));
    if (waiting_.empty()) silence();
  }

  void silence() { alarm_.reset(); }

 private:
  struct Due {
    using type = Time;
    const Time& operator()(const Renewal& renewal) const { return renewal.due_; }
  };

  void set_alarm() {
    if (waiting_.empty()) return;
    rings_at_ = waiting_.begin()->due_;
    alarm_ = clock_.after(executor_, std::max(delay_min, rings_at_ - clock_.now()), [this] { ring(); });
  }

  void ring() {
    const Time now = clock_.now();
    while (!waiting_.empty() && waiting_.begin()->due_ <= now) {
      Renewal& due = *waiting_.begin();
      waiting_.erase(waiting_.begin());
      due.start();
    }
    silence();
    set_alarm();
  }

  Clock& clock_;
  const Executor executor_;
  boost::intrusive::multiset<Renewal, boost::intrusive::key_of_value<Due>> waiting_;
  std::unique_ptr<Clock::Alarm> alarm_;
  Time rings_at_;
  bool posted_ = false;
};

// The rounds of one io_context: one for each clock, and there is hardly ever more than one clock.
class Renewal::Rounds : public asio::execution_context::service {
 public:
  using key_type = Rounds;
  inline static asio::execution_context::id id;

  explicit Rounds(asio::execution_context& owner) : service(owner) {}

  Round& of(Clock& clock, const Executor& executor) {
    for (const auto& round : rounds_) {
      if (&round->clock() == &clock) return *round;
    }
    return *rounds_.emplace_back(std::make_unique<Round>(clock, executor));
  }

 private:
  void shutdown() override {
    for (const auto& round : rounds_) round->silence();
  }

  std::vector<std::unique_ptr<Round>> rounds_;
};

Renewal::Renewal(Store& store, Clock& clock, const Executor& executor, const Key& key, Fence fence, Millis lease)
    : store_(store),
      key_(key),
      fence_(fence),
      lease_(lease),
      round_(asio::use_service<Rounds>(executor.context()).of(clock, executor)) {
  wait(renewals_per_lease);
}

Renewal::~Renewal() {
  if (self_ != nullptr) *self_ = nullptr;
  round_.remove(*this);
}

void Renewal::wait(int parts_of_lease) {
  due_ = round_.clock().now() + std::max(delay_min, lease_ / parts_of_lease);
  round_.add(*this);
}

void Renewal::start() {
  if (self_ == nullptr) self_ = std::make_shared<Renewal*>(this);
  asio::co_spawn(round_.executor(), renew(self_, &store_, key_, fence_, lease_), asio::detached);
}

Task<void> Renewal::renew(Sender sender, Store* store, Key key, Fence fence, Millis lease) {
  const Result<void> renewed = co_await store->renew(std::move(key), fence, lease);
  Renewal* const renewal = *sender;
  if (renewal == nullptr) co_return;
  if (renewed) {
    renewal->wait(renewals_per_lease);
  } else if (renewed.error().code != Code::fenced) {
    renewal->wait(attempts_per_lease);
  }
}

}  // namespace semel::once
