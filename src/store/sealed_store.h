// A store whose responses are encrypted before another store keeps them, and whose keys and scopes are named by the
// identity of that store, if it has one. Any store may stand behind it. Neither that store nor a caller notices.
//
// A record that cannot be opened, or that is not encrypted although it should be, ends the claim with Code::corrupt:
// the key stays blocked, and its answer is neither replayed nor made again.
#pragma once

#include <cstdint>
#include <vector>

#include "core/crypto.h"
#include "store/capable_store.h"

namespace semel::store {

// Whether responses that were kept before there were keys are replayed.
enum class Unsealed : std::uint8_t { refused, accepted };

// `keys` is not empty: the first encrypts, all of them decrypt. The result can do what `inner` can. It has no identity:
// it takes keys by their own names.
CapableStore make_sealed_store(CapableStore inner, const std::vector<core::AesKey>& keys, Unsealed unsealed);

}  // namespace semel::store
