// What an operator may do to a key that no request can: let an ended one run again.
//
// A store offers this beside its calls, as it does Endings.
#pragma once

#include <semel/async.h>
#include <semel/key.h>

namespace semel {

class Reopening {
 public:
  virtual ~Reopening() = default;

  // Frees a key that is done or of unknown outcome, as if it had been released: its next request runs, with the next
  // fence. Durable when it returns. False: there was nothing to free, because the key is free already, or is running.
  // Whoever calls this says that the effect may happen again.
  virtual Async<bool> reopen(Key key) = 0;
};

}  // namespace semel
