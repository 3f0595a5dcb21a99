// One simulated inbox from its seed to its end: providers that repeat what they hear no 2xx for, a process that dies
// and starts again, operators, and at the end, when nothing goes wrong any more, every delivery has to end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/inbox_disk.h"
#include "sim/inbox_node.h"
#include "sim/inbox_oracle.h"
#include "sim/inbox_world.h"
#include <semel/clock.h>

namespace semel::sim {

class InboxSimulation {
 public:
  // A world of chance, or one that a test has made.
  explicit InboxSimulation(std::uint64_t seed);
  InboxSimulation(std::uint64_t seed, InboxSetup setup);

  // Runs to the end, or to the first promise that is broken.
  void run();
  // The same in parts: providers send, time goes by, everything is healed and has to end.
  void send(std::size_t event, Millis after, int times = 1);
  void run_for(Millis time);
  void heal();

  [[nodiscard]] const std::string& verdict() const { return oracle_.verdict(); }
  [[nodiscard]] const InboxStats& stats() const { return world_.stats; }
  [[nodiscard]] InboxWorld& world() { return world_; }
  [[nodiscard]] InboxDisk& disk() { return disk_; }
  [[nodiscard]] InboxOracle& oracle() { return oracle_; }
  [[nodiscard]] InboxNode& node() { return *node_; }

 private:
  void boot();
  void crash();
  void offer(std::size_t event, int times);
  void act();
  void settle_by_hand();

  InboxWorld world_;
  InboxOracle oracle_;
  InboxDisk disk_;
  std::unique_ptr<InboxNode> node_;
  std::vector<bool> heard_;  // 2xx, by event
  std::uint32_t holders_ = 0;
};

}  // namespace semel::sim
