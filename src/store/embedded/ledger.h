// A Ledger is what an embedded store needs from its engine: a durable map of records, and which of them are to expire.
//
// It is called by one thread at a time (the committer), except read(), which any thread may call at any time. read()
// sees only durable commits.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/check.h"
#include "store/inbox_table.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::embedded {

// The change of one key. `replaced_expiry` is the place of the key in the expiry index, if it has one; that entry goes,
// unless the new record has the same place. The same holds for `replaced_unsettled` and the index of what has not
// ended.
struct Change {
  Digest id;
  std::optional<Record> record;  // none: erase
  std::optional<Time> replaced_expiry;
  std::optional<Time> replaced_unsettled = std::nullopt;
};

// Under which time the record stands in the index of what has not ended, or has ended unknown. None if it does not.
inline std::optional<Time> unsettled_since(const Record& record) {
  const bool unsettled = record.state == Record::State::running || record.state == Record::State::unknown;
  return unsettled ? std::optional(record.claimed_at) : std::nullopt;
}

// An entry of the expiry index. It may outlive its record: the key may be gone, or may have been claimed anew.
struct Expiry {
  Time at;
  Digest id;

  friend auto operator<=>(const Expiry&, const Expiry&) = default;
};

class Ledger {
 public:
  virtual ~Ledger() = default;

  // Code::corrupt names the record; the key must stay blocked.
  virtual Result<std::optional<Record>> read(const Digest& id) = 0;

  // Those of many ids, at the places of their ids. For somebody who walks over all of them: what is read pushes nothing
  // out of a cache.
  virtual std::vector<Result<std::optional<Record>>> read_all(std::span<const Digest> ids) {
    std::vector<Result<std::optional<Record>>> records;
    for (const Digest& id : ids) records.push_back(read(id));
    return records;
  }

  // Whether there is room for one more claim. Code::full says what is short; running claims may still end.
  virtual Result<void> admit() { return {}; }

  // Writes all changes or none; durable when it returns. No two of them are of one key. Code::full: no room, nothing
  // was written. After any other error the ledger is stopped: only opening it again can tell what the disk holds.
  virtual Result<void> commit(std::span<const Change> changes) = 0;

  // The same together with changes of an inbox. A ledger without one is never asked.
  virtual Result<void> commit_with(std::span<const Change> changes, const OverlayTable::Changes& inbox) {
    core::check(inbox.empty(), "only a ledger with an inbox is asked to write one");
    return commit(changes);
  }

  // At most `limit` entries of the expiry index, in order: those after `after`, up to and including `now`.
  virtual Result<std::vector<Expiry>> expiries(Time now, std::size_t limit, const std::optional<Expiry>& after) = 0;
};

}  // namespace semel::store::embedded
