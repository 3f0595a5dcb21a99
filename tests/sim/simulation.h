// One world from its seed to its end: who runs next, when time moves, and what goes wrong when.
//
// Each step runs one handler of one event loop, or one batch of the store, chosen by chance among those that are ready.
// When nothing is ready, time jumps to the next alarm. Between steps a fault may strike. When all clients have come and
// gone, everything is healed, every key is asked for once more and must answer, and then every record must expire.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/clients.h"
#include "sim/ledger.h"
#include "sim/oracle.h"
#include "sim/process.h"
#include "sim/store.h"
#include "sim/upstream.h"
#include "sim/world.h"

namespace semel::sim {

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed);

  // Runs to the end, or to the first promise that is broken.
  void run();

  [[nodiscard]] const std::string& verdict() const { return oracle_.verdict(); }
  [[nodiscard]] const Stats& stats() const { return world_.stats; }
  [[nodiscard]] std::uint64_t digest_of_history() const { return world_.digest_of_history(); }

 private:
  bool step();
  bool run_somebody();
  void strike();
  void run_until_quiet();
  void heal();

  Process* any_open();
  Process* by_id(std::uint64_t id);
  void boot(std::size_t place);
  void crash(Process& process);
  void pause(Process& process);
  void crash_store();
  bool store_runs();

  World world_;
  SimLedger ledger_;
  Oracle oracle_;
  StoreServer server_;
  Upstream upstream_;
  std::vector<std::unique_ptr<Process>> processes_;  // by place; nothing while it is down
  Clients clients_;
  std::uint64_t next_process_ = 1;
  bool restart_planned_ = false;
};

}  // namespace semel::sim
