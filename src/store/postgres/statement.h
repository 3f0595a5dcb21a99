// A batch: calls that go to the server as one statement over arrays, which is one transaction.
//
// They are of one kind; or claims, renewals and ends of different keys together (semel.batch_6). The rows are sorted by
// id, and claims come before the others, so that batches that meet on the server do not wait for each other in a circle
// (docs/adr/0033-one-transaction.md). Each id stands once among the claims, and once among the others. Claims that meet
// on one key in this process need only one row: when the first of them has its answer, the state machine of
// core/transition.h says what the others are told, unless one of them is to be granted the key, which takes a write.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include <libpq-fe.h>

#include "store/call.h"
#include "store/postgres/connection.h"
#include "store/postgres/sweep_progress.h"
#include "store/waiting.h"
#include <semel/clock.h>
#include <semel/key.h>

namespace semel::store::postgres {

enum class Company : std::uint8_t {
  any,       // goes with others
  own_kind,  // was part of a merged batch that did not settle it: goes with others of its kind
  alone,     // was part of a batch that failed: goes by itself, so that one bad key fails no other
};

// A claim at a shard that its key has moved away from. Only a record that is still alive there is judged.
struct FormerClaim {
  bool moved = false;  // the answer: there is no such record, and never will be again
};

// A statement that only its maker understands (those of the inbox). It lives as long as the call beside it.
class ServerStep {
 public:
  enum class Lane : std::uint8_t { accept, settle, alone };  // those of one lane go together; of `alone`, one at a time

  virtual ~ServerStep() = default;

  [[nodiscard]] virtual Lane lane() const { return Lane::alone; }
  [[nodiscard]] virtual std::size_t bytes() const { return 0; }
  // Whether its caller is better served by a quick refusal while there is no server.
  [[nodiscard]] virtual bool is_impatient() const { return false; }
  // For all of its batch, which are of one lane, in the order of their ids. This is the first of them.
  [[nodiscard]] virtual bool send(const Link& link, std::span<ServerStep* const> all, Millis patience) const = 0;
  virtual void read(const PGresult* reply, std::span<ServerStep* const> all) = 0;
};

// A call on its way. If it is not answered by `deadline`, nobody knows whether it was applied.
struct Entry {
  std::unique_ptr<Waiting> waiting;  // apart, since it cannot be assigned, and entries are sorted
  Time deadline;
  Company company = Company::any;
  FormerClaim* former = nullptr;      // null unless the call is such a claim; lives as long as the call
  std::uint64_t reopener = 0;         // random, of a reopening: names it when it is asked for again
  SweepProgress* progress = nullptr;  // null unless the call is a sweep; lives as long as the driver
  ServerStep* step = nullptr;         // null unless the call is a StepCall; lives as long as the call

  [[nodiscard]] StoreCall& call() const { return *waiting->call; }
};

// The calls of one kind that wait to be sent, first come first.
using Queue = std::deque<Entry>;

// The kinds of calls, as in StoreCall::request. Ordered claims, and those of a shard that their key has moved away
// from, are kinds of their own, so that the others cost nothing more for them.
inline constexpr std::size_t kind_claim = 0;
inline constexpr std::size_t kind_renew = 1;
inline constexpr std::size_t kind_complete = 2;
inline constexpr std::size_t kind_release = 3;
inline constexpr std::size_t kind_sweep = 4;
inline constexpr std::size_t kind_reopen = 5;
inline constexpr std::size_t kind_look = 6;
inline constexpr std::size_t kind_settle = 7;
inline constexpr std::size_t kind_find = 8;
inline constexpr std::size_t kind_list = 9;
inline constexpr std::size_t kind_append = 10;
inline constexpr std::size_t kind_audit = 11;
inline constexpr std::size_t kind_note = 12;
inline constexpr std::size_t kind_past = 13;
inline constexpr std::size_t kind_prune = 14;
inline constexpr std::size_t kind_ordered = 15;
inline constexpr std::size_t kind_former = 16;
inline constexpr std::size_t kind_accept_event = 17;
inline constexpr std::size_t kind_settle_delivery = 18;
inline constexpr std::size_t kind_step = 19;
inline constexpr std::size_t kinds = 20;
// Whether calls of the kind go one at a time.
inline constexpr bool is_single(std::size_t kind) {
  return kind == kind_sweep || kind == kind_step || (kind >= kind_settle && kind <= kind_prune);
}
inline std::size_t kind_of(const Entry& entry) {
  if (entry.step != nullptr) return kind_accept_event + static_cast<std::size_t>(entry.step->lane());
  const auto* claim = std::get_if<ClaimCall>(&entry.call().request);
  if (claim == nullptr) return entry.call().request.index();
  if (claim->terms.order != nullptr) return kind_ordered;
  return entry.former != nullptr ? kind_former : kind_claim;
}

using Queues = std::array<Queue, kinds>;

// Those that go together. Of an end and a renewal of one claim the renewal waits.
inline constexpr std::array<std::size_t, 4> merged_kinds{kind_complete, kind_release, kind_renew, kind_claim};
inline bool goes_merged(const Queue& queue) {
  return !queue.empty() && queue.front().company == Company::any;
}

class Statement {
 public:
  // Takes from `queue`, which is not empty, what can go together.
  explicit Statement(Queue& queue);
  // Takes claims, renewals and ends; at least one that is no claim goes_merged().
  explicit Statement(Queues& queues);

  // Queues it on a connection in pipeline mode. The server gives up waiting for a lock after `patience`.
  [[nodiscard]] bool send(const Link& link, Millis patience) const;

  // Fills in the answers. Call it when the reply is durable.
  struct Outcome {
    std::vector<Waiting> answered;
    std::vector<Entry> again;    // what the reply does not settle
    std::vector<Digest> waited;  // keys that have ended and are waited for on another gateway
  };
  Outcome read(const PGresult* reply);

  [[nodiscard]] std::size_t kind() const { return kind_; }
  [[nodiscard]] bool merged() const { return !holders_.empty(); }
  [[nodiscard]] bool completes() const;  // whether there is a completion among its calls
  [[nodiscard]] std::size_t rows() const { return leaders_.size() + holders_.size(); }
  [[nodiscard]] std::size_t calls() const { return entries_.size() + holders_.size(); }
  [[nodiscard]] Company company() const { return merged() ? Company::any : entries_.front().company; }
  [[nodiscard]] Time deadline() const;  // of the most patient call
  // Hands out the calls, if there is nothing to read().
  [[nodiscard]] std::vector<Entry> take();

 private:
  void read_claims(const PGresult* reply, Outcome& outcome);
  void read_ordered(const PGresult* reply, Outcome& outcome);
  static void read_holders(const PGresult* reply, std::vector<Entry>& holders, Outcome& outcome);
  void read_looks(const PGresult* reply, Outcome& outcome);
  [[nodiscard]] std::vector<ServerStep*> steps() const;
  void find_leaders();

  std::size_t kind_;                  // of `entries_`
  std::vector<Entry> entries_;        // sorted by id; those with one id in the order of their arrival
  std::vector<std::size_t> leaders_;  // the first entry of each id
  std::vector<Entry> holders_;        // renewals and ends beside claims, sorted by id; empty if there is one kind only
};

}  // namespace semel::store::postgres
