// One group commit: judge the calls in order, write what they change, and only then let anybody know.
//
// Calls of one batch see each other's changes, so two claims on one key in the same batch have one winner. If the commit
// fails, every call that depended on it fails; none of them was acknowledged.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <variant>

#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

#include "store/ledger.h"

namespace semel {

struct ClaimCall {
  Fingerprint fingerprint;
  Terms terms;
  Result<Claim> answer;
};
struct RenewCall {
  Fence fence;
  Millis lease;
  Result<void> answer;
};
struct CompleteCall {
  Fence fence;
  SharedResponse response;
  Result<void> answer;
};
struct ReleaseCall {
  Fence fence;
  Result<void> answer;
};
struct SweepCall {
  std::size_t limit;
  Result<std::size_t> answer;
};

struct Call {
  Key key;  // of all but SweepCall
  std::variant<ClaimCall, RenewCall, CompleteCall, ReleaseCall, SweepCall> request;
};

// `acknowledge` is called once, after the commit, when every answer is filled in.
void run_batch(std::span<Call* const> calls, Ledger& ledger, Time now, const std::function<void()>& acknowledge);

}  // namespace semel
