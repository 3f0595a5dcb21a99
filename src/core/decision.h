// decide(): the protocol, as one pure table.
//
//   what the claim found      fingerprint   policy            decision
//   granted                   –             –                 Run
//   done                      same          –                 Replay
//   running                   same          conflict          Reject in-flight
//   running                   same          wait              Wait
//   unknown                   same          hold, retry       Reject outcome-unknown
//   unknown                   same          probe             Ask
//   anything held             other         –                 Reject key-reused    (before all of the above: G4)
//   superseded                –             –                 Superseded
//   another of its object     –             conflict          Reject in-flight
//   another of its object     –             wait              Wait
//
// With `retry` the store itself takes an unknown key over, so that row is reached only when a claim that stood was made
// under another policy.
#pragma once

#include <optional>
#include <variant>

#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/problem.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::core {

struct Run {
  Fence fence;
  Time expires_at;
};
struct Replay {
  SharedResponse response;
  Fence fence;
  Time expires_at;
  Millis left;  // until then, by the store's clock
};
struct Wait {
  Millis lease_left;                           // no point in waiting longer for this holder
  std::optional<Digest> other = std::nullopt;  // whose end is waited for, if it is not the key's own
};
struct Ask {
  Fence fence;  // probe what became of this attempt; then nothing but this attempt may be taken over
};
struct Reject {
  Problem problem;
  Millis retry_after;
  std::optional<Fingerprint> holder = std::nullopt;  // of the key, if that is why
};

using Decision = std::variant<Run, Replay, Wait, Ask, Reject, Superseded>;

// The terms on which `policy` claims a key.
Terms terms_of(const Policy& policy, std::uint64_t owner, SharedOrder order = nullptr);

Decision decide(const Claim& claim, const Fingerprint& fingerprint, const Policy& policy);

// The answer to a caller when the store failed.
Refused refused_by(const Error& error);

}  // namespace semel::core
