// What stands behind Semel in the simulated world: it has effects, remembers each of them, and can be asked.
//
// It is not idempotent: called twice, it acts twice. Each answer carries a fresh nonce, so the oracle can tell any two
// apart.
#pragma once

#include <cstdint>

#include "sim/oracle.h"
#include "sim/world.h"

namespace semel::sim {

class Upstream {
 public:
  Upstream(World& world, Oracle& oracle) : world_(world), oracle_(oracle) {}

  // The effect of `attempt` happens now: the answer to it. Nothing if the attempt has been sealed.
  SharedResponse act(Attempt& attempt);
  // A refusal for good: an answer to keep, without an effect.
  SharedResponse refuse(int key);
  // What became of the attempts of the key's present life. Tells the truth, or that it cannot tell.
  Outcome probe(int key);

 private:
  SharedResponse answer(std::uint16_t status, std::uint64_t nonce);

  World& world_;
  Oracle& oracle_;
  std::uint64_t nonces_ = 0;
};

}  // namespace semel::sim
