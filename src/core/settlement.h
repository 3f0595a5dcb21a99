// What an operator decides about a key whose attempt has ended, or has been lost.
#pragma once

#include <cstdint>

#include <semel/response.h>
#include <semel/store.h>

namespace semel::core {

// The fence that the decision was made on is compared in the store. If it is no longer the key's, nothing changes.
struct Settlement {
  enum class Verdict : std::uint8_t {
    done,      // an unknown outcome took effect: `response` is its answer from now on
    not_done,  // an unknown outcome had no effect: the next retry of that request runs, with the next fence
    reopened,  // a finished key is to run again, with the next fence
  };

  Fence fence;
  Verdict verdict = Verdict::done;
  SharedResponse response;  // of `done`; else null
  // Random, of this act. It becomes the owner of the key's fence, so that a holder that slept through its lease is
  // fenced, and an act whose answer was lost can be repeated.
  std::uint64_t act = 0;
};

}  // namespace semel::core
