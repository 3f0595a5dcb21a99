// A look at a key that costs no write: whether it is surely free.
//
// A store that can tell without waiting for anybody offers this beside its calls, as it does Endings. It is no claim:
// somebody may take the key in the next moment, or may be taking it now. Whoever means to run anything claims.
#pragma once

#include <semel/key.h>

namespace semel {

class Glance {
 public:
  virtual ~Glance() = default;

  // False: perhaps not, or it cannot be told. May be called from any thread.
  virtual bool surely_free(const Key& key) = 0;
};

}  // namespace semel
