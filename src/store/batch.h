// One group commit: judge the calls in order, write what they change, and only then let anybody know.
//
// Calls of one batch see each other's changes, so two claims on one key in the same batch have one winner. If the
// commit fails, every call that depended on it fails; none of them was acknowledged. A call that only read what was
// durable before keeps its answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <variant>

#include "store/ledger.h"
#include "store/recent_writes.h"
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel {

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

struct Call {
  Key key;  // of all but SweepCall
  std::variant<ClaimCall, RenewCall, CompleteCall, ReleaseCall, SweepCall, ReopenCall> request;
};

// Judge any number of calls, then commit once. Until then no answer may be given to anybody.
class Batch {
 public:
  // `recent` must have been told of every commit of the ledger since both were made; without one, the ledger is asked.
  explicit Batch(Ledger& ledger, RecentWrites* recent = nullptr);
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  void judge(Call& call, Time now);
  void commit();

 private:
  class Judge;
  std::unique_ptr<Judge> judge_;
};

// A batch of just these calls. `acknowledge` is called once, after the commit, when every answer is filled in.
void run_batch(std::span<Call* const> calls, Ledger& ledger, Time now, const std::function<void()>& acknowledge,
               RecentWrites* recent = nullptr);

}  // namespace semel
