// Sharing out keys. Which databases belong together is in postgres_shard_set.cc.
#include "store/postgres_shards.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/sha256.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/endings.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/reopening.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::postgres {
namespace {

class ShardedStore : public Store, public Endings, public Reopening {
 public:
  ShardedStore(std::vector<std::unique_ptr<Store>> shards, std::vector<std::string> names)
      : shards_(std::move(shards)), names_(std::move(names)) {}

  Async<Claim> claim(Key key, Fingerprint fingerprint, Terms terms) override {
    Store& home = home_of(key);
    return home.claim(std::move(key), fingerprint, terms);
  }
  Async<void> renew(Key key, Fence fence, Millis lease) override {
    Store& home = home_of(key);
    return home.renew(std::move(key), fence, lease);
  }
  Async<void> complete(Key key, Fence fence, SharedResponse response) override {
    Store& home = home_of(key);
    return home.complete(std::move(key), fence, std::move(response));
  }
  Async<void> release(Key key, Fence fence) override {
    Store& home = home_of(key);
    return home.release(std::move(key), fence);
  }
  // A shard that is down keeps no other from being swept.
  Async<std::size_t> sweep(std::size_t limit) override {
    Result<std::size_t> swept = 0;
    std::size_t total = 0;
    for (std::size_t i = 0; i < shards_.size() && total < limit; ++i) {
      Result<std::size_t> one = co_await shards_[i]->sweep(limit - total);
      if (one) total += *one;
      if (!one) swept = std::move(one);
    }
    if (total > 0 || swept) co_return total;
    co_return swept;
  }

  Async<bool> reopen(Key key) override {
    auto* const home = dynamic_cast<Reopening*>(&home_of(key));
    check(home != nullptr, "a shard can do what the whole can");
    return home->reopen(std::move(key));
  }

  void watch(std::function<void(const Digest&)> ended) override {
    for (const auto& shard : shards_) {
      if (auto* endings = dynamic_cast<Endings*>(shard.get())) endings->watch(ended);
    }
  }
  void expect(const Key& key) override {
    if (auto* endings = dynamic_cast<Endings*>(&home_of(key))) endings->expect(key);
  }

 private:
  Store& home_of(const Key& key) { return *shards_[shard_of(key, names_)]; }

  std::vector<std::unique_ptr<Store>> shards_;
  std::vector<std::string> names_;
};

}  // namespace

std::size_t shard_of(const Key& key, const std::vector<std::string>& names) {
  std::string_view place(reinterpret_cast<const char*>(key.id.data()), key.id.size());
  if (key.home != 0) place = {reinterpret_cast<const char*>(&key.home), sizeof(key.home)};
  std::size_t best = 0;
  Digest highest{};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Digest weight = sha256_parts("semel shard v1", {names[i], place});
    if (i > 0 && weight < highest) continue;
    best = i;
    highest = weight;
  }
  return best;
}

std::unique_ptr<Store> make_sharded_store(std::vector<std::unique_ptr<Store>> shards, std::vector<std::string> names) {
  return std::make_unique<ShardedStore>(std::move(shards), std::move(names));
}

}  // namespace semel::postgres
