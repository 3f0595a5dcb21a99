// The calls of a store as values: what was asked, and the answer once there is one.
//
// Stores gather calls of many callers and answer them together. A call lives in the frame of the coroutine that made
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <variant>

#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store {

inline Error not_judged() {
  return {.code = Code::unavailable, .detail = "not judged"};
}

struct ClaimCall {
  Fingerprint fingerprint;
  Terms terms;
  Result<Claim> answer = std::unexpected(not_judged());
  std::optional<std::uint64_t> absent_at = std::nullopt;  // version of RecentWrites before a read that found nothing
  bool former = false;  // for a shard that the key has moved away from: only what is there and lives is judged
  bool moved = false;   // its answer: nothing is there, and never will be again
};
struct RenewCall {
  Fence fence;
  Millis lease;
  Result<void> answer = std::unexpected(not_judged());
};
struct CompleteCall {
  Fence fence;
  SharedResponse response;  // is moved into the record
  Result<void> answer = std::unexpected(not_judged());
};
struct ReleaseCall {
  Fence fence;
  Result<void> answer = std::unexpected(not_judged());
};
struct SweepCall {
  std::size_t limit;
  Result<std::size_t> answer = std::unexpected(not_judged());
};

struct ReopenCall {
  Result<bool> answer = std::unexpected(not_judged());
};

struct StoreCall {
  Key key;  // of all but SweepCall
  std::variant<ClaimCall, RenewCall, CompleteCall, ReleaseCall, SweepCall, ReopenCall> request;
};

}  // namespace semel::store
