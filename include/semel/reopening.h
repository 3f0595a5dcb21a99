// Lets an operator do what no request can: make a key that has ended run again.
//
// A store may offer this beside its calls (OpenedStore::reopening in semel/stores.h).
#pragma once

#include <semel/async.h>
#include <semel/key.h>

namespace semel {

class Reopening {
 public:
  virtual ~Reopening() = default;

  // Frees a key that is done or of unknown outcome, as if it had been released: its next request runs, with the next
  // fence. Durable when it returns. False if there was nothing to free, because the key is free already, or is running.
  // By calling this you accept that the effect may happen again.
  virtual Async<bool> reopen(Key key) = 0;
};

}  // namespace semel
