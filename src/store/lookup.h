// A look at a key that writes nothing: what holds it, and how it ended.
//
// It is no claim: somebody may take the key in the next moment. A caller that means to run something must claim it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

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

  // The same for somebody who walks over many keys, each once: the answers stand in the order of the keys, and what is
  // read pushes nothing out of a cache. One failure is that of all. At most together_max() keys, which is 1 where a
  // store is asked best by many single looks at a time.
  virtual Async<std::vector<std::optional<Held>>> look_up_together(std::vector<Key> keys);
  [[nodiscard]] virtual std::size_t together_max() const { return 1; }
};

}  // namespace semel::store
