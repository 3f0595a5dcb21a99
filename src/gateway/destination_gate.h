// The limits of one destination, shared by all threads: how many attempts run at once, how fast they begin, whether it
// is paused or left alone, and whether anything waits for it.
//
// A slot is entered before an attempt begins, and left when it has ended. A gate holds no event and knows no store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "inbox/breaker.h"
#include "inbox/destination.h"
#include "inbox/verdict.h"
#include "policy/token_bucket.h"
#include "reading/units.h"
#include <semel/clock.h>

namespace semel::gateway {

// As operators see it.
struct GateView {
  std::string name;
  std::uint32_t running = 0;
  std::uint32_t concurrency = 0;
  std::optional<reading::Rate> rate;
  bool paused = false;
  std::optional<Time> paused_until;
  std::string paused_for;  // the reason
  inbox::Breaker::State breaker = inbox::Breaker::State::closed;
  Time probe_at{};
};

// Which part of the limits is this gateway's, if several deliver. From `of` on: none yet.
struct GateShare {
  std::uint32_t of = 1;
  std::uint32_t at = 0;
};

class DestinationGate {
 public:
  explicit DestinationGate(const inbox::Destination& rules);

  // New rules; the breaker keeps its state.
  void configure(const inbox::Destination& rules);
  void divide(GateShare share);
  // Of several gateways, one alone calls a destination that takes one attempt at a time.
  void lead(bool leads);

  // Takes slots for up to `wanted` attempts; returns how many there are.
  std::size_t enter(std::size_t wanted, Time now);
  // Slots that were not used.
  void withdraw(std::size_t slots);
  // Attempts that run already, and for which no slot was free: from now on they have one, and leave it as others do.
  void exceed(std::size_t slots);
  void leave(inbox::Health health, Time now, double chance);

  void pause(std::optional<Time> until, std::string reason);
  void resume();

  // Something may be due then.
  void expect(Time at);
  // It has been looked; the next may be due then.
  void looked(std::optional<Time> next);
  // How long until it makes sense to look for what is due; none: not before something changes.
  [[nodiscard]] std::optional<Millis> look_in(Time now);

  [[nodiscard]] GateView view() const;
  // How many more deliveries that operators sent again may run now, for the share that they have.
  [[nodiscard]] std::size_t replays_max() const;
  void began_replay();
  void ended_replay(Time now);

 private:
  [[nodiscard]] bool held(Time now) const;
  [[nodiscard]] std::uint32_t concurrency() const;
  [[nodiscard]] std::optional<reading::Rate> rate() const;

  mutable std::mutex mutex_;
  std::string name_;
  // Of all gateways together, and the part of this one.
  struct Limits {
    std::uint32_t concurrency = 0;
    std::uint32_t replay_share = 0;
    std::optional<reading::Rate> rate;
    GateShare share;
    bool leads = true;
  };
  Limits limits_;
  policy::TokenBucket bucket_;
  Time rate_allows_{};  // the next attempt to begin
  inbox::Breaker breaker_;
  std::uint32_t running_ = 0;
  std::uint32_t replaying_ = 0;  // of those
  std::optional<Time> due_;
  struct Stop {
    std::optional<Time> until;
    std::string reason;
  };
  std::optional<Stop> paused_;
};

// By name. A gate stays when its destination leaves the configuration: attempts may be under way.
class DestinationGates {
 public:
  void configure(const std::vector<inbox::Destination>& destinations);
  // For all of them, also those that come later.
  void divide(GateShare share);
  // From now on a destination that takes one attempt at a time is called by nobody who does not lead it.
  void be_one_of_several();
  // Null if no destination ever had this name.
  [[nodiscard]] std::shared_ptr<DestinationGate> find(const std::string& name) const;
  // Those of the configuration in force, in its order.
  [[nodiscard]] std::vector<std::shared_ptr<DestinationGate>> current() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<DestinationGate>> gates_;
  std::vector<std::shared_ptr<DestinationGate>> current_;
  GateShare share_;
  bool alone_ = true;
};

}  // namespace semel::gateway
