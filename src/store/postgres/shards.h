// Several databases as one store: a key lives in one of them, by rendezvous hashing over what the databases call
// themselves (semel.shards), so neither the order of the addresses nor what they look like matters.
//
// For a while after a shard was added, some keys still live where the smaller set had put them. That former home judges
// the keys that it still has. A key that has expired there is claimed at its new home, and nothing can bring it back to
// the old one. So a key has one judge at any time, and no row is moved.
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

// For a connection that only looks or prepares: tells it apart from those of gateways.
inline constexpr const char* not_a_gateway = "SET application_name = 'semel migrate'";

// Where a key lives: the position of one of `names`, which are not empty. Keys of one home live together.
std::size_t shard_of(const Key& key, const std::vector<std::string>& names);

class PostgresJobs;

// A shard that keys have moved away from. Answers for those that still live there; none for a key that it no longer
// has.
class FormerHome {
 public:
  virtual ~FormerHome() = default;
  virtual Async<std::optional<Claim>> claim_former(Key key, Fingerprint fingerprint, Terms terms) = 0;
};

struct Shard {
  CapableStore opened;
  FormerHome* former = nullptr;  // part of the same store
  PostgresJobs* jobs = nullptr;  // the same; null if it has no inbox
};

// The names of the databases, and of those that were the whole set before, as long as that matters.
struct ShardNames {
  std::vector<std::string> all;
  std::vector<std::string> former;
};

// `shards` are named by `names.all`, in the same order. The result can do what each of them can, but for a glance.
CapableStore make_sharded_store(std::vector<Shard> shards, ShardNames names);

// In the order of `urls`. Code::invalid: two addresses lead to one database, or the set is not the one that they were
// prepared for.
Result<ShardNames> names_of(const Clock& clock, const std::vector<std::string>& urls, Millis time_max);

// Records in each database that these belong together. If shards are added to a set that holds keys, it also records
// that these may be found where they were, and removes that note when it is no longer needed. Afterwards all of them
// have one identity (store/postgres/identity.h). Code::invalid: a gateway is connected, or there are keys that would
// not be found, or identities differ.
Result<void> record_shards(const Clock& clock, const std::vector<std::string>& urls, Millis time_max);

}  // namespace semel::store::postgres
