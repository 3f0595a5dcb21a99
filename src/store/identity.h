// How a store gets its identity (core/identity.h) and keeps it while encryption keys come and go.
//
// Each kind of store keeps the wrapped identity in its own way. It makes one exactly once, before its first record: a
// store that has records and no identity names keys by plain hashes for ever. What all stores share is here. With the
// wrong identity every key would be forgotten and its request would run again, so every doubt is a refusal.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/crypto.h"
#include "core/identity.h"
#include "core/seal.h"
#include <semel/result.h>

namespace semel::store {

core::Salt random_salt();

// A new, random identity, wrapped by the first of `keys`, which are not empty.
struct Newborn {
  core::StoreIdentity identity{};
  std::string wrapped;
};
Newborn new_identity(const std::vector<core::AesKey>& keys);

struct Known {
  core::StoreIdentity identity{};
  std::optional<std::string> rewrapped;  // set if another key than the first had wrapped it: store this instead
};

// The identity of the store at `place`, from `wrapped`. Code::invalid: there are no keys, or none fits; says what to
// do.
Result<Known> open_identity(std::string_view wrapped, const std::vector<core::AesKey>& keys, std::string_view place);

}  // namespace semel::store
