// The operator's view of a store: find a key, list those that need somebody, settle one.
//
// Everything here goes by the ids that the store itself has. They are those of the keys, unless the store names its
// keys by an identity: named() tells. What is found has been read without a lock, so it may be a moment old. That does
// no harm, because an act names the fence that it was decided on, and the store compares it.
//
// A list costs what it looks at, not what is stored: it ends after `looks_max` records or `time_max`, whichever comes
// first, and says where to go on. Nothing counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/settlement.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/store.h>

namespace semel::store {

inline constexpr std::size_t looks_max = 10'000;
inline constexpr Millis list_time_max{200};

// What a list shows. What is not set does not matter.
struct KeyFilter {
  enum class Wanted : std::uint8_t {
    unknown,  // nobody knows the outcome, because it was told so or because the lease has run out
    running,
  };

  Wanted wanted = Wanted::unknown;
  std::optional<std::string> space;
  std::optional<ScopeDigest> scope;  // as named() has it
  Millis older{0};                   // claimed at least so long ago
  std::size_t items_max = 100;

  [[nodiscard]] bool takes(const Held& held, Time now) const {
    const Record& record = held.record;
    const bool state = record.state == (wanted == Wanted::unknown ? Record::State::unknown : Record::State::running);
    return state && (!space || *space == record.key.space) && (!scope || *scope == record.key.scope) &&
           record.claimed_at + older <= now;
  }
};

struct KeyList {
  std::vector<Held> items;  // oldest claim first; without responses
  std::string cursor;       // where to go on; empty if this was all
  Time searched_to;         // keys that were claimed before this have been looked at; see the store for how well
};

class Desk {
 public:
  virtual ~Desk() = default;

  // The key with the id and the scope that it has in this store.
  [[nodiscard]] virtual Key named(Key key) const { return key; }

  // The keys whose ids begin with these bytes, at most `limit`. Those that have expired are not found; those that are
  // free but remembered are (Record::State::released). The whole id of an object whose events are ordered finds the
  // event of it that had its turn last. Code::corrupt: the only one cannot be read.
  virtual Async<std::vector<Held>> find(std::string id_begins, std::size_t limit) = 0;

  // What `filter` takes, from `cursor` on (empty: from the oldest). Code::invalid: the cursor is not one of this store.
  virtual Async<KeyList> list(KeyFilter filter, std::string cursor) = 0;

  // Settles the key with this id. Durable when it returns. Repeating an act that succeeded succeeds. Nothing that is
  // running is ever settled. Code::fenced: the key is not, or no longer, as the act says; nothing was changed.
  virtual Async<void> settle(Digest id, core::Settlement settlement) = 0;
};

}  // namespace semel::store
