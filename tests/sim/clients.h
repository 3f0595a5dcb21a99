// Who uses the simulated world: clients that call once() and repeat themselves, and programs that hold claims by hand.
//
// A client's operation is a burst of equal requests at several processes; refused or cut off, they come again. Some
// requests carry another fingerprint. An action draws its script when it starts: how long it takes, whether and when it
// has its effect, how it ends, and whether its process is to end in the midst of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "sim/oracle.h"
#include "sim/process.h"
#include "sim/upstream.h"
#include "sim/world.h"

namespace semel::sim {

class Clients {
 public:
  // `choose` names a process that accepts connections, if there is one.
  Clients(World& world, Oracle& oracle, Upstream& upstream, std::function<Process*()> choose);

  // Starts to come, and goes on until every visit of the plan has been made.
  void come();
  // One last request for every key: it must find an end.
  void come_last();
  // Every record has expired: they are swept.
  void sweep_all();

  [[nodiscard]] bool finished() const { return visits_left_ == 0 && pending_ == 0; }
  // The process that an action's script ends now.
  std::optional<std::uint64_t> doomed() { return std::exchange(doomed_, std::nullopt); }
  // A process is gone: its clients notice, and come again.
  void lost(std::uint64_t process);

 private:
  struct Script;
  Script draw_script(int key, bool final_round);

  void arrive();
  void begin(int key, Fingerprint fingerprint, int tries, bool final_round);
  void retry(const Visit& visit, Millis pause);
  Task<void> visit(Process* process, std::shared_ptr<Visit> visit);
  Task<Outcome> act(Process* process, std::shared_ptr<Visit> visit, Fence fence);
  Task<Outcome> play(Process* process, std::shared_ptr<Attempt> attempt, Script script);
  Task<Outcome> ask(Process* process, int key);

  void begin_hold(int key);
  Task<void> hold(Process* process, int key);
  Task<void> stray(Process* process, std::shared_ptr<Attempt> attempt, Key key, SharedResponse response, bool releases);
  Task<void> sweep(Process* process, std::size_t limit);

  World& world_;
  Oracle& oracle_;
  Upstream& upstream_;
  std::function<Process*()> choose_;
  std::map<std::uint64_t, std::shared_ptr<Visit>> open_;
  std::optional<std::uint64_t> doomed_;
  std::uint64_t next_visit_ = 1;
  int visits_left_;
  int pending_ = 0;  // visits that are under way or will come again
};

}  // namespace semel::sim
