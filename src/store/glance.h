// A look at a key that costs no write: whether it is surely free.
//
// A store offers this if it can tell without waiting for anybody. It is no claim: somebody may take the key in the next
// moment, or may be taking it now. A caller that means to run something must claim the key.
#pragma once

#include <semel/key.h>

namespace semel::store {

class Glance {
 public:
  virtual ~Glance() = default;

  // False if the key may be held, or if the store cannot tell. May be called from any thread.
  virtual bool surely_free(const Key& key) = 0;
};

}  // namespace semel::store
