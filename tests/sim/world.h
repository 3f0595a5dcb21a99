// What all parts of the simulation share: chance, time, the plan of this seed, and the record of what happened.
//
// One thread runs everything. Time stands still while anybody has something to do, and then jumps to the next alarm,
// so every history is decided by the seed alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "sim/random.h"
#include "support/virtual_clock.h"
#include <semel/once.h>
#include <semel/store.h>

namespace semel::sim {

// What may go wrong in this world; each out of ten thousand.
struct Faults {
  int crash = 0;           // per step: a process ends, with all that it had in memory
  int pause = 0;           // per step: a process stands still, perhaps for longer than its leases
  int stall = 0;           // per step: time passes although there is work to do
  int store_crash = 0;     // per step: a store that nodes share ends
  int cut_off = 0;         // per action: its process ends just before or just after the effect
  int commit_full = 0;     // per commit: no room, nothing is written
  int commit_failed = 0;   // per commit: an error; the store stops; what was written may or may not reappear
  int commit_crashed = 0;  // per commit: the process ends, before or after the write has become durable
  int commit_slow = 0;     // per commit: it takes longer than a lease may last
  int letter_lost = 0;     // per call of a shared store: time-out, and it was never applied
  int answer_lost = 0;     // per call: time-out, and it was applied
  int letter_late = 0;     // per call: time-out, and it is applied later
  int answer_late = 0;     // per call: the answer takes long
};

// One key of this world: who uses it, and how.
struct Plan {
  Key key;
  Fingerprint right;
  Fingerprint wrong;
  Policy policy;
  SharedOrder order = nullptr;  // of events of one object
};

struct Setup {
  bool embedded = false;  // one process with its store inside, or several that share one
  int nodes = 1;
  int lanes = 1;  // io_contexts per process
  int visits = 0;
  bool recent_writes = false;  // the store remembers what it wrote last
  Faults faults;
  std::vector<Plan> plans;
};

struct Stats {
  std::uint64_t steps = 0, seeds = 0, batches = 0, crashes = 0, pauses = 0, stalls = 0, store_crashes = 0;
  std::uint64_t commit_faults = 0, letter_faults = 0, attempts = 0, effects = 0, probes = 0, renewals = 0, sweeps = 0;
  std::uint64_t visits = 0, ran = 0, replays = 0, reused = 0, in_flight = 0, unknown = 0, unavailable = 0, lives = 0;
  std::uint64_t superseded = 0, ordered_claims = 0;

  void operator+=(const Stats& other);
  [[nodiscard]] std::string text() const;
};

struct Event {
  Time at;
  int key;                // of no key: -1
  std::uint64_t process;  // 0: the store or the outside
  const char* what;
  Fence fence;
  std::uint64_t detail;
};

class World {
 public:
  explicit World(std::uint64_t seed);

  Random random;
  test::VirtualClock clock;
  boost::asio::io_context outside{1};  // where clients, letters and restarts wait for their time
  Setup setup;
  Stats stats;
  std::vector<Event> history;
  Time disturbed_until{};  // the last moment at which anything was, or is going to be, wrong
  bool healed = false;     // no more faults from now on

  [[nodiscard]] Time now() const { return clock.now(); }
  void disturb(Millis lasting = Millis{0}) { disturbed_until = std::max(disturbed_until, now() + lasting); }
  // Whether a fault with this chance strikes now.
  bool strikes(int in_ten_thousand) { return !healed && in_ten_thousand > 0 && random.chance(in_ten_thousand); }

  void after(Millis delay, std::function<void()> what);

  void note(int key, std::uint64_t process, const char* what, Fence fence = {}, std::uint64_t detail = 0);
  [[nodiscard]] int index_of(const Digest& id) const;
  // The other events of its object; none if it is not ordered.
  [[nodiscard]] std::vector<int> siblings(int key) const;
  [[nodiscard]] Plan& plan(int key) { return setup.plans[static_cast<std::size_t>(key)]; }
  // The last events of a key, as lines.
  [[nodiscard]] std::string story(int key, std::size_t lines) const;
  [[nodiscard]] std::uint64_t digest_of_history() const;

 private:
  std::map<std::uint64_t, std::unique_ptr<Clock::Alarm>> alarms_;
  std::uint64_t next_alarm_ = 0;
  std::map<Digest, int> keys_;
};

}  // namespace semel::sim
