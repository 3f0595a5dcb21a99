// Several databases as one store: a key lives in one of them, by rendezvous hashing over what the databases call
// themselves (semel.shards), so neither the order of the addresses nor what they look like matters.
//
// While a shard has been added lately, some keys live where the smaller set of before had put them. Such a shard judges
// what it still has; a key that it has no longer, because it has expired there, is claimed at its new home, and nothing
// can bring it back to the old one. So there is one judge of a key at any time, without moving a row.
//
// Every gateway must go by the same set, or two of them would look for one key in two places. The set is therefore
// recorded in each database by `semel migrate`, and a store whose addresses make another set does not open.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/capable_store.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::postgres {

// Sets a connection that is used for a moment, to look or to prepare, apart from those of gateways.
inline constexpr const char* not_a_gateway = "SET application_name = 'semel migrate'";

// Where a key lives: the position of one of `names`, which are not empty. Keys of one home live together.
std::size_t shard_of(const Key& key, const std::vector<std::string>& names);

// A shard that keys have moved away from: answers for those that live there still; nothing: it has the key no longer.
class FormerHome {
 public:
  virtual ~FormerHome() = default;
  virtual Async<std::optional<Claim>> claim_former(Key key, Fingerprint fingerprint, Terms terms) = 0;
};

struct Shard {
  CapableStore opened;
  FormerHome* former = nullptr;  // part of the same store
};

// What the databases call themselves; and those of them that were the whole set before, as long as that matters.
struct ShardNames {
  std::vector<std::string> all;
  std::vector<std::string> former;
};

// `shards` are named by `names.all`, in the same order. The result can do what each of them can, but for a glance.
CapableStore make_sharded_store(std::vector<Shard> shards, ShardNames names);

// In the order of `urls`. Code::invalid: two addresses lead to one database, or the set is not the one that they were
// prepared for.
Result<ShardNames> names_of(const Clock& clock, const std::vector<std::string>& urls, Millis time_max);

// Records in each database that these belong together. Where shards are added to a set that holds keys, it is recorded
// that those may be found where they were; where that is recorded and no longer needed, it is taken back.
// All of them have one identity then (store/postgres/identity.h).
// Code::invalid: a gateway is connected, or there are keys that would not be found, or identities differ.
Result<void> record_shards(const Clock& clock, const std::vector<std::string>& urls, Millis time_max);

}  // namespace semel::store::postgres
