// A Ledger is what an embedded store needs from its engine: a durable map of records, and which of them have expired.
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

namespace semel {

// What becomes of one key. `replaced_expiry` is where the record that was stored before stands in the expiry index.
struct Change {
  Key key;
  std::optional<Record> record;  // nothing: erase
  std::optional<Time> replaced_expiry;
};

class Ledger {
 public:
  virtual ~Ledger() = default;

  // Code::corrupt names the record; the key must stay blocked.
  virtual Result<std::optional<Record>> read(const Key& key) = 0;

  // All changes or none, durable when it returns. Code::full: no room, nothing was written. After any other error the
  // ledger is stopped: what is on disk is not known before it has been opened again.
  virtual Result<void> commit(std::span<const Change> changes) = 0;

  // At most `limit` keys whose records were to expire at or before `now`, earliest first, after skipping `skip`.
  virtual Result<std::vector<Key>> expired_by(Time now, std::size_t limit, std::size_t skip) = 0;
};

}  // namespace semel
