// What all parts of the simulated inbox share: time, chance, what is to be done when, and the plan of this seed.
//
// One thread runs everything. Each step does the next thing of the agenda; time jumps to it. So six hours of a dead
// handler take a second, and every history is decided by the seed alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "inbox/destination.h"
#include "sim/random.h"
#include "store/inbox.h"
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>

namespace semel::sim {

// What may go wrong; each out of ten thousand.
struct InboxFaults {
  int crash = 0;           // per step: the process ends
  int commit_full = 0;     // per commit: no room, nothing is written
  int commit_failed = 0;   // per commit: the sync fails, the store stops; a restart finds the batch there or not
  int commit_crashed = 0;  // per commit: the process ends, before or after the write has become durable
  int admit_full = 0;      // per event: no room for its key
  int read_failed = 0;     // per look at an event: it cannot be read for the moment. Never drawn, see setup
};

// How a handler is, as far as its events do not say otherwise; each out of ten thousand.
struct HandlerMood {
  int fails = 0;                            // 500, without any thought of health
  int busy = 0;                             // 503 with a Retry-After
  int silent = 0;                           // no answer in time, or a connection that is lost
  int refuses = 0;                          // 404
  int gone = 0;                             // 410
  int fatal = 0;                            // a status of `fatal`
  int says = 0;                             // Semel-Outcome, whatever the status
  std::vector<std::pair<Time, Time>> down;  // not reached
};

struct SimDestination {
  inbox::Destination rules;
  HandlerMood mood;
};

inline constexpr const char* poison_type = "poison";  // of events that no handler ever takes: 500

// An event that a provider sends, once or several times.
struct SimEvent {
  Key key;
  Fingerprint fingerprint;
  std::string source;
  std::string type;
  store::Line line;
  Millis ttl{0};
  std::vector<std::string> to;
  std::vector<std::string> skipped;  // destinations whose filter does not take it
};

struct InboxSetup {
  InboxFaults faults;
  std::vector<SimDestination> destinations;
  std::vector<SimEvent> events;
  config::InboxConfig config;
  std::uint64_t depth_max = 1'000'000;
  Millis rest{10'000};  // longer than any handler works
  Millis answers_after_max{400};
  int operators = 0;  // acts
  std::size_t batch_max = 8;
};

struct InboxStats {
  std::uint64_t steps = 0, seeds = 0, commits = 0, crashes = 0, commit_faults = 0, sent = 0, accepted = 0, known = 0;
  std::uint64_t refused = 0, attempts = 0, retries = 0, floors = 0, adopted = 0, acts = 0, pauses = 0, fifo = 0;
  std::map<store::DeliveryState, std::uint64_t> ends{};

  void operator+=(const InboxStats& other);
  [[nodiscard]] std::string text() const;
};

class InboxWorld {
 public:
  InboxWorld(std::uint64_t seed, InboxSetup plan) : random(seed), setup(std::move(plan)) {}

  Random random;
  InboxSetup setup;
  InboxStats stats;
  bool healed = false;  // no more faults from now on

  [[nodiscard]] Time now() const { return now_; }
  // The same moment: behind all that is planned for it.
  void after(Millis delay, std::function<void()> what) { agenda_.emplace(now_ + delay, std::move(what)); }
  // Does the next thing: false if there is none before `until`.
  bool step(std::optional<Time> until = std::nullopt);

  bool strikes(int in_ten_thousand) { return !healed && in_ten_thousand > 0 && random.chance(in_ten_thousand); }
  double chance() { return static_cast<double>(random.next() >> 11U) * 0x1.0p-53; }
  [[nodiscard]] SimDestination& destination(const std::string& name);

  void note(const std::string& what);
  // The last lines of what happened.
  [[nodiscard]] std::string story() const;
  [[nodiscard]] std::uint64_t digest_of_history() const { return digest_; }

 private:
  static constexpr std::size_t lines_kept = 60;

  Time now_{Millis{1'000'000'000'000}};
  std::multimap<Time, std::function<void()>> agenda_;
  std::vector<std::string> lines_;
  std::uint64_t digest_ = 0xcbf29ce484222325ULL;
};

// A world of chance: destinations, events, moods and faults.
InboxSetup draw_inbox(Random& random, Time start);
SimEvent sim_event(std::size_t number, std::vector<std::string> to);

}  // namespace semel::sim
