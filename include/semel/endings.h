// How a store that several processes share tells one of them that a key has ended in another.
//
// A store may offer this beside its calls; only keys that somebody waits for are told of, so it costs nothing where
// nobody waits. It is a hint: a word may be lost (a pooler swallows it, a connection breaks), so whoever waits looks at
// the key again now and then.
#pragma once

#include <functional>

#include <semel/key.h>

namespace semel {

class Endings {
 public:
  virtual ~Endings() = default;

  // `ended` is called on any thread, and perhaps without need, with the id of a key that was expected. To be called
  // once, before expect(); what `ended` uses must outlive the store.
  virtual void watch(std::function<void(const Digest&)> ended) = 0;

  // Somebody in this process waits for the end of `key`.
  virtual void expect(const Key& key) = 0;
};

}  // namespace semel
