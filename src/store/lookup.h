// A look at a key that writes nothing: what holds it, and how it ended.
//
// It is no claim: somebody may take the key in the next moment. A caller that means to run something must claim it.
#pragma once

#include <optional>

#include <semel/async.h>
#include <semel/key.h>
#include <semel/store.h>

namespace semel::store {

class Lookup {
 public:
  virtual ~Lookup() = default;

  // The record of the key, as a claim would report it; none if there is no record, or it has expired. A record that was
  // released is reported too, with its state: such a key is free (but see Record::doubted).
  // Code::corrupt: the record cannot be read. Code::unavailable: the store did not answer.
  virtual Async<std::optional<Held>> look_up(Key key) = 0;
};

}  // namespace semel::store
