// What happened to one key, and whether a store that keeps the contract could have answered so.
//
// Each call is an interval between two ticks of one counter. Calls whose intervals overlap may have taken effect in
// either order; a call that had ended before another began came first. The checks hold for every order that is left, so
// what they report is a fault of the store and never of the schedule. Time stands still in a history: no lease lapses
// and nothing expires, and every claim is made by an owner of its own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <semel/store.h>

namespace semel::test {

enum class Deed : std::uint8_t { claim, claim_over, renew, complete, complete_unknown, release };
enum class Reply : std::uint8_t { granted, held_running, held_done, held_unknown, ok, fenced };

struct Event {
  Deed deed = Deed::claim;
  std::uint64_t begun = 0;
  std::uint64_t ended = 0;
  Reply reply = Reply::ok;
  Fence fence;            // granted, found in the holder's record, or presented by the caller
  std::uint64_t tag = 0;  // of a response: presented by complete, or found when done
};

// In words, what no faithful store would have answered. Empty: nothing to object to.
std::vector<std::string> faults(std::span<const Event> history);

}  // namespace semel::test
