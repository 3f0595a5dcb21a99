// One process of the simulated world: its event loops, its once(), its clock and its way to the store.
//
// A crash loses everything in memory. Coroutines cannot just be dropped, so a process that has ended is run out in no
// time: its calls get no answer, its alarms ring at once, its actions find that they are dead; nothing that it still
// does reaches the world, and no client hears of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "sim/store.h"
#include "sim/world.h"
#include <semel/once.h>

namespace semel::sim {

// The clock of one process: wrong by hours, but steady.
class NodeClock : public Clock {
 public:
  explicit NodeClock(World& world);

  [[nodiscard]] Time now() const override { return world_.now() + skew_ + flown_; }
  [[nodiscard]] std::unique_ptr<Alarm> after(Executor executor, Millis delay, std::function<void()> ring) override;

  // From now on every alarm rings as soon as it is set, as if its time had passed.
  void run_out();

 private:
  struct Bell;
  class BellAlarm;

  World& world_;
  Millis skew_;
  std::vector<std::weak_ptr<Bell>> bells_;
  bool out_ = false;
  Millis flown_{0};  // since it has run out
};

class Process {
 public:
  Process(World& world, StoreServer& server, Oracle& oracle, std::uint64_t id);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  const std::uint64_t id;

  [[nodiscard]] bool dead() const { return dead_; }
  [[nodiscard]] bool paused() const { return paused_; }
  void pause() { paused_ = true; }
  void resume() { paused_ = false; }

  // Starts a coroutine on one of the event loops.
  void start(Task<void> task);
  // Runs what is ready next on loop `lane`: false if there is nothing.
  bool step(std::size_t lane) { return lanes_[lane]->context.poll_one() > 0; }
  [[nodiscard]] std::size_t lanes() const { return lanes_.size(); }

  Once& once() { return once_; }
  Port& port() { return port_; }
  NodeClock& clock() { return clock_; }

  void die();

 private:
  struct Lane {
    boost::asio::io_context context{1};
    boost::asio::executor_work_guard<Executor> work{context.get_executor()};
  };

  World& world_;
  NodeClock clock_;
  Port port_;
  Once once_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  int coroutines_ = 0;
  bool dead_ = false;
  bool paused_ = false;
};

}  // namespace semel::sim
