// A Ledger is what an embedded store needs from its engine: a durable map of records, and which of them are to expire.
//
// It is called by one thread at a time (the committer), except read(), which any thread may call at any time and which
// sees only what has been committed durably.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::embedded {

// What becomes of one key. `replaced_expiry` is where the expiry index names the key now, if it does; the entry goes,
// unless the new record is to stand in the same place.
struct Change {
  Digest id;
  std::optional<Record> record;  // nothing: erase
  std::optional<Time> replaced_expiry;
};

// An entry of the expiry index. It may outlive its record, and so may name a key that is gone or has been claimed anew.
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

  // Whether there is room for one more claim. Code::full says what is short; claims that run already may still end.
  virtual Result<void> admit() { return {}; }

  // All changes or none, durable when it returns; no key stands in two of them. Code::full: no room, nothing was
  // written. After any other error the ledger is stopped: what is on disk is not known before it is opened again.
  virtual Result<void> commit(std::span<const Change> changes) = 0;

  // At most `limit` entries of the expiry index up to and including `now`, in order, beginning behind `after`.
  virtual Result<std::vector<Expiry>> expiries(Time now, std::size_t limit, const std::optional<Expiry>& after) = 0;
};

}  // namespace semel::store::embedded
