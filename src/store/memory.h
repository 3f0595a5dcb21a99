// The reference store with all that it can do; semel/stores.h has it for users.
#pragma once

#include "store/capable_store.h"
#include <semel/clock.h>

namespace semel::store {

CapableStore make_capable_memory_store(Clock& clock);

}  // namespace semel::store
