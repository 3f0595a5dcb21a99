// Who sends deliveries that are not believed: the addresses with the most of them, in fixed memory.
//
// Anybody can send such a delivery, from as many addresses as an attacker has. So there are places for 64 pairs of an
// address and a reason, shared out as in top_scopes.h: when all are taken, a new pair takes the place of the one with
// the fewest, and is counted from then on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "webhook/signatures.h"
#include <semel/clock.h>

namespace semel::telemetry {

class Strangers {
 public:
  static constexpr std::size_t places = 64;

  struct Stranger {
    std::string address;
    webhook::SignatureFault fault{};
    std::uint64_t count = 0;  // since it got its place
    Time first{};
    Time last{};
  };
  struct View {
    std::vector<Stranger> strangers;  // the most first
    bool partial = false;             // there were more than there are places
  };

  void add(std::string_view address, webhook::SignatureFault fault, Time now);
  [[nodiscard]] View view() const;

 private:
  struct Place {
    Stranger stranger;
    std::uint64_t weight = 0;  // at least what was counted
  };

  mutable std::mutex mutex_;
  std::vector<Place> places_;
  bool partial_ = false;
};

}  // namespace semel::telemetry
