#include "sim/process.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include "core/check.h"

namespace semel::sim {
namespace asio = boost::asio;

struct NodeClock::Bell {
  Executor executor;
  std::function<void()> ring;
  bool silent = false;

  void sound() {
    if (!std::exchange(silent, true)) ring();
  }
};

class NodeClock::BellAlarm : public Clock::Alarm {
 public:
  BellAlarm(std::shared_ptr<Bell> bell, std::unique_ptr<Clock::Alarm> alarm)
      : bell_(std::move(bell)), alarm_(std::move(alarm)) {}
  ~BellAlarm() override { bell_->silent = true; }

 private:
  std::shared_ptr<Bell> bell_;
  std::unique_ptr<Clock::Alarm> alarm_;
};

NodeClock::NodeClock(World& world) : world_(world), skew_(world.random.millis(Millis{-7'200'000}, Millis{7'200'000})) {}

std::unique_ptr<Clock::Alarm> NodeClock::after(Executor executor, Millis delay, std::function<void()> ring) {
  auto bell = std::make_shared<Bell>(Bell{.executor = executor, .ring = std::move(ring)});
  if (out_) {
    flown_ += delay;
    asio::post(executor, [bell] { bell->sound(); });
    return std::make_unique<BellAlarm>(std::move(bell), nullptr);
  }
  std::erase_if(bells_, [](const auto& one) { return one.expired(); });
  bells_.push_back(bell);
  std::unique_ptr<Alarm> alarm = world_.clock.after(executor, delay, [bell] { bell->sound(); });
  return std::make_unique<BellAlarm>(std::move(bell), std::move(alarm));
}

void NodeClock::run_out() {
  out_ = true;
  for (const auto& one : bells_) {
    if (const auto bell = one.lock()) asio::post(bell->executor, [bell] { bell->sound(); });
  }
}

Process::Process(World& world, StoreServer& server, Oracle& oracle, std::uint64_t the_id)
    : id(the_id),
      world_(world),
      clock_(world),
      port_(world, server, oracle, id),
      once_(port_, clock_, world.random.next()) {
  for (int i = 0; i < world.setup.lanes; ++i) lanes_.push_back(std::make_unique<Lane>());
}

Process::~Process() {
  if (!dead_) die();
}

void Process::start(Task<void> task) {
  ++coroutines_;
  const std::size_t lane = world_.random.below(lanes_.size());
  asio::co_spawn(lanes_[lane]->context.get_executor(), std::move(task), [this](const std::exception_ptr& error) {
    --coroutines_;
    if (error) std::rethrow_exception(error);
  });
}

void Process::die() {
  dead_ = true;
  port_.hang_up();
  clock_.run_out();
  const auto busy = [](const auto& lane) { return lane->context.poll() > 0; };
  while (std::ranges::count_if(lanes_, busy) > 0) {
  }
  core::check(coroutines_ == 0, "a process that has ended runs out");
}

}  // namespace semel::sim
