// Tells this process which keys operators have changed through another one, so that it forgets what it remembers.
//
// A store that only one process uses has nothing to tell. A message may get lost with its connection; the store then
// says that some key has changed as soon as it listens again.
#pragma once

#include <functional>

#include <semel/key.h>

namespace semel::store {

class RemoteChanges {
 public:
  virtual ~RemoteChanges() = default;

  // Sets the function that is called with the id of a key that was settled or reopened, or with null if nobody can say
  // which key it was. It is called on any thread, and sometimes needlessly. Call watch() once. Everything that
  // `changed` uses must outlive the store.
  virtual void watch(std::function<void(const Digest*)> changed) = 0;
};

}  // namespace semel::store
