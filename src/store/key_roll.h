// Keys in the order in which they expire, for those who look at all keys of a time: a key expires its ttl after it was
// claimed, so the keys that were claimed in a span are those that expire in the span one ttl later.
//
// It costs what it lists. Times are those of the store, ids those that it has (Desk::named()).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/store.h>

namespace semel::store {

inline constexpr std::size_t roll_page_max = 5'000;

// From `from` on, up to but without `to`; of one namespace.
struct RollSpan {
  Time from;
  Time to;
  std::string space;
};

struct RollEntry {
  Digest id{};
  Record::State state{};  // as it is kept: one whose lease has run out is still `running`
  Time claimed_at{};
  Time expires_at{};
};

struct RollPage {
  std::vector<RollEntry> items;
  std::string cursor;  // where to go on; empty if this was all
};

class KeyRoll {
 public:
  virtual ~KeyRoll() = default;

  // A page may be short, or empty, and still have a cursor. Code::invalid: the cursor is not one of this store.
  virtual Async<RollPage> expiring(RollSpan span, std::string cursor) = 0;
};

}  // namespace semel::store
