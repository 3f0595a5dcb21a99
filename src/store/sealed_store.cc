// The claim says which fingerprint a response belongs to, but the call that ends it does not: it is remembered between
// the two. A claim that another process ends is bound by its key and its fence only, and its record says so.
#include "store/sealed_store.h"

#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <openssl/rand.h>

#include "core/check.h"
#include "core/crypto.h"
#include "core/seal.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/endings.h>
#include <semel/fingerprint.h>
#include <semel/glance.h>
#include <semel/key.h>
#include <semel/reopening.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel {
namespace {

constexpr std::size_t claims_max = 100'000;  // remembered; only claims that never end can make it as many

Salt random_salt() {
  Salt salt{};
  check(RAND_bytes(salt.data(), static_cast<int>(salt.size())) == 1, "the system has randomness");
  return salt;
}

// The fingerprints of claims that were granted here and have not ended.
class Claims {
 public:
  void add(const Key& key, Fence fence, Fingerprint fingerprint) {
    const std::scoped_lock lock(mutex_);
    if (live_.size() >= claims_max) live_.clear();
    live_.insert_or_assign(nameless(key), Live{.fence = fence, .fingerprint = fingerprint});
  }
  std::optional<Fingerprint> find(const Key& key, Fence fence) {
    const std::scoped_lock lock(mutex_);
    const auto found = live_.find(nameless(key));
    if (found == live_.end() || found->second.fence != fence) return std::nullopt;
    return found->second.fingerprint;
  }
  void end(const Key& key, Fence fence) {
    const std::scoped_lock lock(mutex_);
    const auto found = live_.find(nameless(key));
    if (found != live_.end() && found->second.fence == fence) live_.erase(found);
  }

 private:
  struct Live {
    Fence fence;
    Fingerprint fingerprint;
  };
  static Key nameless(const Key& key) { return {.id = key.id, .scope = {}, .space = {}}; }

  std::mutex mutex_;
  std::unordered_map<Key, Live> live_;
};

bool is_over(const Result<void>& ended) {
  return ended || ended.error().code == Code::fenced;
}

// Outlives the store as long as a call is under way: the answer may come after the store has gone.
struct Safe {
  Seals seals;
  Unsealed unsealed;
  Claims claims;

  Result<SharedResponse> open(const Record& record) const {
    if (!is_sealed(*record.response)) {
      if (unsealed == Unsealed::accepted) return record.response;
      return fail(Code::corrupt, "stored response refused: it is not encrypted, and store.read_unencrypted is off");
    }
    return seals.open(*record.response,
                      {.id = record.key.id, .fence = record.fence, .fingerprint = record.fingerprint});
  }
};

class SealedStore : public Store, public Reopening, public Glance {
 public:
  SealedStore(std::unique_ptr<Store> inner, std::shared_ptr<Safe> safe)
      : safe_(std::move(safe)), inner_(std::move(inner)) {}

  Async<Claim> claim(Key key, Fingerprint fingerprint, Terms terms) override {
    const std::shared_ptr<Safe> safe = safe_;
    Result<Claim> claimed = co_await inner_->claim(key, fingerprint, std::move(terms));
    if (!claimed) co_return claimed;
    if (const auto* granted = std::get_if<Granted>(&*claimed)) safe->claims.add(key, granted->fence, fingerprint);
    auto* const held = std::get_if<Held>(&*claimed);
    if (held == nullptr || held->record.response == nullptr) co_return claimed;
    Result<SharedResponse> opened = safe->open(held->record);
    if (!opened) co_return std::unexpected(std::move(opened.error()));
    held->record.response = *std::move(opened);
    co_return claimed;
  }

  Async<void> renew(Key key, Fence fence, Millis lease) override { return inner_->renew(std::move(key), fence, lease); }

  Async<void> complete(Key key, Fence fence, SharedResponse response) override {
    const std::shared_ptr<Safe> safe = safe_;
    if (response != nullptr) {
      const Belonging belonging{.id = key.id, .fence = fence, .fingerprint = safe->claims.find(key, fence)};
      response = std::make_shared<const Response>(safe->seals.seal(*response, belonging, random_salt()));
    }
    Result<void> ended = co_await inner_->complete(key, fence, std::move(response));
    if (is_over(ended)) safe->claims.end(key, fence);
    co_return ended;
  }

  Async<void> release(Key key, Fence fence) override {
    const std::shared_ptr<Safe> safe = safe_;
    Result<void> ended = co_await inner_->release(key, fence);
    if (is_over(ended)) safe->claims.end(key, fence);
    co_return ended;
  }

  Async<std::size_t> sweep(std::size_t limit) override { return inner_->sweep(limit); }

  Async<bool> reopen(Key key) override {
    auto* const store = dynamic_cast<Reopening*>(inner_.get());
    if (store == nullptr) co_return fail(Code::invalid, "this store cannot reopen a key");
    co_return co_await store->reopen(std::move(key));
  }

  bool surely_free(const Key& key) override {
    auto* const store = dynamic_cast<Glance*>(inner_.get());
    return store != nullptr && store->surely_free(key);
  }

 private:
  const std::shared_ptr<Safe> safe_;
  const std::unique_ptr<Store> inner_;
};

class SharedSealedStore : public SealedStore, public Endings {
 public:
  SharedSealedStore(std::unique_ptr<Store> inner, Endings& endings, std::shared_ptr<Safe> safe)
      : SealedStore(std::move(inner), std::move(safe)), endings_(endings) {}

  void watch(std::function<void(const Digest&)> ended) override { endings_.watch(std::move(ended)); }
  void expect(const Key& key) override { endings_.expect(key); }

 private:
  Endings& endings_;
};

}  // namespace

std::unique_ptr<Store> make_sealed_store(std::unique_ptr<Store> inner, const std::vector<AesKey>& keys,
                                         Unsealed unsealed) {
  auto safe = std::make_shared<Safe>(Seals(keys), unsealed);
  if (auto* endings = dynamic_cast<Endings*>(inner.get())) {
    return std::make_unique<SharedSealedStore>(std::move(inner), *endings, std::move(safe));
  }
  return std::make_unique<SealedStore>(std::move(inner), std::move(safe));
}

}  // namespace semel
