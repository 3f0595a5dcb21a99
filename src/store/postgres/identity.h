// How the databases of one store agree on its identity (core/identity.h).
//
//   unsettled ──▶ plain                     each for ever; the first gateway to use the database decides, and all
//       └───────▶ an identity, wrapped      databases of a set say the same
//
// A set is settled one database after the other, in the order of their names, and no key is written before all of them
// are. A gateway that was interrupted in between, or meets another, finds what was settled and goes on from there.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <libpq-fe.h>

#include "core/crypto.h"
#include "core/identity.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::postgres {

inline constexpr const char* plain_name = "plain";

struct Settled {
  std::string name;  // plain_name, or the mark of the identity in hex: what each database says (Server::identity)
  std::optional<core::StoreIdentity> identity;
};

// For a store that is being opened. `urls` must be the whole set.
// Code::invalid: they are not the whole set, or the databases do not agree, or no key opens the identity.
Result<Settled> settle_identity(const Clock& clock, const std::vector<std::string>& urls,
                                const std::vector<core::AesKey>& keys, Millis time_max);

// For databases that are to become one set: settles those that are unsettled on what the others have settled on.
// Code::invalid: they do not agree.
Result<void> share_identity(const Clock& clock, std::span<PGconn* const> databases, Millis time_max);

}  // namespace semel::store::postgres
