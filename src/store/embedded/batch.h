// One group commit: judge the calls in order, write what they change, and only then let anybody know.
//
// Calls of one batch see each other's changes, so two claims on one key in the same batch have one winner. If the
// commit fails, every call that depended on it fails; none of them was acknowledged. A call that read only durable
// records keeps its answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <variant>

#include "store/call.h"
#include "store/embedded/ledger.h"
#include "store/embedded/recent_writes.h"
#include "store/inbox_book.h"
#include "store/inbox_table.h"
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::embedded {

// A call, and what its caller knows from looking into the ledger before.
struct BatchCall {
  StoreCall* call;
  // Of a claim whose caller found no record: the version of RecentWrites before that look.
  std::optional<std::uint64_t> absent_at = std::nullopt;
};

// The inbox of the ledger: its rules, and what is durable of it.
struct InboxPart {
  InboxBook& book;
  InboxReader& reader;
};

// Judge any number of calls, then commit once. Until then no answer may be passed on.
class Batch {
 public:
  // `recent` must have been told of every commit of the ledger since both were made. If it is null, the ledger is
  // asked. `inbox` is null if the ledger has none.
  explicit Batch(Ledger& ledger, RecentWrites* recent = nullptr, InboxPart* inbox = nullptr);
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  void judge(const BatchCall& call, Time now);
  void commit();

 private:
  class Judge;
  std::unique_ptr<Judge> judge_;
};

// A batch of just these calls. `acknowledge` is called once, after the commit, when every answer is filled in.
void run_batch(std::span<const BatchCall> calls, Ledger& ledger, Time now, const std::function<void()>& acknowledge,
               RecentWrites* recent = nullptr);

}  // namespace semel::store::embedded
