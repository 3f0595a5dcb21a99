// A store that several processes share can tell one of them that a key has ended in another.
//
// A store may offer this beside its calls (OpenedStore::endings in semel/stores.h). It tells only of keys that somebody
// waits for, so it costs nothing if nobody waits. It is a hint: a message may be lost (a pooler swallows it, a
// connection breaks), so a caller that waits must also look at the key again from time to time.
#pragma once

#include <functional>

#include <semel/key.h>

namespace semel {

class Endings {
 public:
  virtual ~Endings() = default;

  // Sets the function that is called with the id of an expected key that has ended. It is called on any thread, and
  // sometimes needlessly. Call watch() once, before expect(). Everything that `ended` uses must outlive the store.
  virtual void watch(std::function<void(const Digest&)> ended) = 0;

  // Tells the store that somebody in this process waits for the end of `key`. May be called from any thread.
  virtual void expect(const Key& key) = 0;
};

}  // namespace semel
