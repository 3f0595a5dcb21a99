// Several databases as one store: a key lives in one of them, by rendezvous hashing over what the databases call
// themselves (semel.shards), so neither the order of the addresses nor what they look like matters.
//
// Every gateway must go by the same set, or two of them would look for one key in two places. The set is therefore
// recorded in each database by `semel migrate`, and a store whose addresses make another set does not open.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::postgres {

// Where a key lives: the position of one of `names`, which are not empty. Keys of one home live together.
std::size_t shard_of(const Key& key, const std::vector<std::string>& names);

// `shards` are named by `names`, in the same order.
std::unique_ptr<Store> make_sharded_store(std::vector<std::unique_ptr<Store>> shards, std::vector<std::string> names);

// What each database calls itself, in the order of `urls`. Code::invalid: two addresses lead to one database, or the
// set is not the one that they were prepared for.
Result<std::vector<std::string>> names_of(const Clock& clock, const std::vector<std::string>& urls, Millis time_max);

// Records in each database that these belong together. Does nothing where that is so already. Code::invalid: one of
// them holds keys, or is in use by a gateway, that would be looked for elsewhere afterwards.
Result<void> record_shards(const Clock& clock, const std::vector<std::string>& urls, Millis time_max);

}  // namespace semel::postgres
