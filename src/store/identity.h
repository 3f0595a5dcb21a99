// How a store gets its identity (core/identity.h) and keeps it while encryption keys come and go.
//
// Each kind of store keeps the wrapped identity in its own way, makes it exactly once, before its first record, and
// never again: a store that has records and no identity names keys by plain hashes for ever. What is the same for all
// of them is here. Whoever gets it wrong forgets keys, and their requests run again; so every doubt is a refusal.
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

// An identity that nobody has, wrapped by the first of `keys`, which are not empty.
struct Newborn {
  core::StoreIdentity identity{};
  std::string wrapped;
};
Newborn new_identity(const std::vector<core::AesKey>& keys);

struct Known {
  core::StoreIdentity identity{};
  std::optional<std::string> rewrapped;  // by the first key, if another one had wrapped it: to be stored in its place
};

// The identity that `place` has. Code::invalid: there are no keys, or none that fits; says what to do.
Result<Known> open_identity(std::string_view wrapped, const std::vector<core::AesKey>& keys, std::string_view place);

}  // namespace semel::store
