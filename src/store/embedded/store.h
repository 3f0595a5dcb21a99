// The embedded store for callers that may have encryption keys; semel/stores.h has it for all others.
#pragma once

#include <vector>

#include "core/crypto.h"
#include "store/capable_store.h"
#include <semel/clock.h>
#include <semel/result.h>
#include <semel/stores.h>

namespace semel::store::embedded {

// As open_embedded_store() of semel/stores.h. A store that is made with `keys` gets an identity, and from then on opens
// only with one of them. A store that was made without keys stays as it is.
Result<CapableStore> open_with_keys(Clock& clock, EmbeddedOptions options, const std::vector<core::AesKey>& keys);

}  // namespace semel::store::embedded
