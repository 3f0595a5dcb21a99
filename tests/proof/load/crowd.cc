// What the clients of a crowd do.
#include "load/crowd.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "load/caller.h"
#include "load/line.h"

namespace semel::proof {
namespace {

constexpr std::size_t recent_max = 40;
constexpr std::size_t settlers = 8;
constexpr std::chrono::milliseconds rest{20};
constexpr double share_new = 0.35;
constexpr double share_again = 0.90;
constexpr double share_crossed = 0.95;
constexpr double share_refused = 0.05;

double share(std::mt19937_64& chance) {
  return std::uniform_real_distribution<double>(0.0, 1.0)(chance);
}

template <class List>
const auto& one_of(const List& list, std::mt19937_64& chance) {
  return list[std::uniform_int_distribution<std::size_t>(0, list.size() - 1)(chance)];
}

}  // namespace

Operation Crowd::pick(Chance& chance) {
  const std::lock_guard lock(mutex_);
  const double kind = share(chance);
  Operation operation;
  if (kind < share_new || recent_.empty()) {
    ++keys_;
    operation = {.scope = share(chance) < 0.5 ? "alice" : "bob",
                 .key = fmt::format("k{}", keys_),
                 .body = fmt::format(R"({{"n": {}}})", keys_),
                 .target = fmt::format("/{}/effects", one_of(options_.routes, chance))};
  } else {
    operation = one_of(recent_, chance);
    if (kind > share_crossed)
      operation.body = R"({"other": true})";
    else if (kind > share_again)
      operation.scope = operation.scope == "alice" ? "bob" : "alice";
  }
  recent_.push_back(operation);
  if (recent_.size() > recent_max) recent_.pop_front();
  operations_.insert(operation);
  return operation;
}

// Whether there is more to do.
bool Crowd::wait_to_go_on(Caller& caller) {
  std::unique_lock lock(mutex_);
  if (!going_ && !stopped_) {
    caller.hang_up();
    ++resting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return going_ || stopped_; });
    --resting_;
  }
  return !stopped_;
}

void Crowd::run(std::size_t number) {
  std::seed_seq seeds{options_.seed, static_cast<std::uint64_t>(number)};
  Chance chance(seeds);
  Caller caller(options_.gateways[number % options_.gateways.size()], book_, requests_);
  while (wait_to_go_on(caller)) {
    const Operation operation = pick(chance);
    std::string more = fmt::format("X-Delay-Ms: {}\r\n", one_of(options_.delays_ms, chance));
    if (share(chance) < share_refused) more += "X-Refuse: yes\r\n";
    if (caller.call(operation, more).held_up) std::this_thread::sleep_for(rest);
  }
}

void Crowd::start() {
  for (std::size_t number = 0; number < options_.clients; ++number)
    threads_.emplace_back([this, number] { run(number); });
}

void Crowd::pause(double seconds) {
  std::unique_lock lock(mutex_);
  going_ = false;
  changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return resting_ == threads_.size(); });
}

void Crowd::go_on() {
  const std::lock_guard lock(mutex_);
  going_ = true;
  changed_.notify_all();
}

void Crowd::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  threads_.clear();
}

void Crowd::settle(const Endpoint& at, double seconds) {
  std::vector<Operation> waiting = operations();
  std::mutex mutex;
  const auto run_one = [&] {
    Caller caller(at, book_, requests_);
    while (true) {
      std::unique_lock lock(mutex);
      if (waiting.empty()) return;
      const Operation operation = std::move(waiting.back());
      waiting.pop_back();
      lock.unlock();
      caller.settle(operation, seconds);
    }
  };
  std::vector<std::jthread> threads;
  threads.reserve(settlers);
  for (std::size_t number = 0; number < settlers; ++number) threads.emplace_back(run_one);
}

std::vector<Operation> Crowd::operations() {
  const std::lock_guard lock(mutex_);
  return {operations_.begin(), operations_.end()};
}

}  // namespace semel::proof
