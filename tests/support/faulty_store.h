// A Store in front of another one that fails as networks and disks fail: by script, or by a seed.
//
//   fault           the call is     the caller hears
//   none            applied         the answer
//   slow            applied         the answer, `delay` later (applied at once)
//   refused         not applied     Code::unavailable, at once
//   full            not applied     Code::full, at once
//   request_lost    not applied     Code::unavailable, after `delay` (its time-out)
//   answer_lost     applied         Code::unavailable, after `delay`
//   late            applied later   Code::unavailable, at once; the call arrives `delay` after that
//
// It starts no thread and draws no randomness but from its script, so the same script gives the same run. Delays are
// alarms of the clock: with a VirtualClock nothing moves until the test turns it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>

#include "store/lookup.h"
#include <semel/clock.h>
#include <semel/store.h>

namespace semel::test {

enum class StoreCall : std::uint8_t { claim, renew, complete, release, sweep, look };
enum class FaultKind : std::uint8_t { none, slow, refused, full, request_lost, answer_lost, late };
inline constexpr std::size_t fault_kinds = 7;

struct Fault {
  FaultKind kind = FaultKind::none;
  Millis delay{0};

  friend bool operator==(const Fault&, const Fault&) = default;
};

// Asked once for each call, in the order in which the calls are made.
using FaultScript = std::function<Fault(StoreCall)>;

// The nth call of one kind, counted from 1, has the fault; every other call has none.
struct FaultAt {
  StoreCall call;
  std::uint64_t nth;
  Fault fault;
};
FaultScript faults_at(std::initializer_list<FaultAt> list);

// Draws a fault for each call by weight, and a delay up to `delay_max` where the fault has one.
struct FaultWeights {
  std::array<std::uint32_t, fault_kinds> of{};  // by FaultKind
  Millis delay_max{0};
};
FaultScript faults_by_seed(std::uint64_t seed, FaultWeights weights);

class FaultyStore : public Store, public store::Lookup {
 public:
  // `inner` and `clock` must outlive this store and every io_context on which it was called: a late call may be
  // waiting.
  // `lookup` is that of `inner`, if the test looks at keys.
  FaultyStore(Store& inner, Clock& clock, FaultScript script, store::Lookup* lookup = nullptr);

  Async<Claim> claim(Key key, Fingerprint fingerprint, Terms terms) override;
  Async<void> renew(Key key, Fence fence, Millis lease) override;
  Async<void> complete(Key key, Fence fence, SharedResponse response) override;
  Async<void> release(Key key, Fence fence) override;
  Async<std::size_t> sweep(std::size_t limit) override;
  Async<std::optional<Held>> look_up(Key key) override;

  // Another script from now on, for example an empty one: the network has healed.
  void follow(FaultScript script) { script_ = std::move(script); }
  [[nodiscard]] std::uint64_t count(FaultKind kind) const { return counts_.at(static_cast<std::size_t>(kind)); }

 private:
  Fault next(StoreCall call);

  Store& inner_;
  store::Lookup* lookup_;
  Clock& clock_;
  FaultScript script_;
  std::array<std::uint64_t, fault_kinds> counts_{};
};

}  // namespace semel::test
