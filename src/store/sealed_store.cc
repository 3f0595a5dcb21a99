// The decorator: each call passes through it on its way in, and what comes back is opened and renamed on the way out.
//
// A response is bound to its fingerprint. The claim names the fingerprint, but the call that ends it does not, so it is
// remembered in between. A claim that another process ends is bound to its key and its fence only; its record says so.
//
// The name of a key cannot be turned back into the key. A few names come from the store: of the event that an object is
// busy with, of a key that has ended elsewhere. They are looked up among those that were seen here. That is enough:
// they only serve callers that wait, and a caller whose name was forgotten looks at the key again after a while.
#include "store/sealed_store.h"

#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/crypto.h"
#include "core/identity.h"
#include "core/seal.h"
#include "core/settlement.h"
#include "store/capable_store.h"
#include "store/desk.h"
#include "store/glance.h"
#include "store/history.h"
#include "store/identity.h"
#include "store/inbox_jobs.h"
#include "store/lookup.h"
#include "store/notes.h"
#include "store/remote_changes.h"
#include "store/sealed_claims.h"
#include "store/sealed_history.h"
#include "store/sealed_inbox.h"
#include "store/sealed_jobs.h"
#include "store/sealed_notes.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/endings.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/reopening.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store {
namespace {

bool is_over(const Result<void>& ended) {
  return ended || ended.error().code == Code::fenced;
}

// What all parts of a sealed store share. Lives until the last call has ended, even if the store has gone by then.
struct Safe {
  core::Seals seals;
  Unsealed unsealed;
  std::optional<core::KeyNames> names;  // none: keys keep their names
  Claims claims;
  Awaited awaited;

  [[nodiscard]] Key named(const Key& key) const { return names ? names->name(key) : key; }

  [[nodiscard]] SharedOrder named(const SharedOrder& order) const {
    if (!names || order == nullptr) return order;
    return std::make_shared<const Order>(
        Order{.object = names->name(order->object), .stamp = order->stamp, .company = order->company});
  }

  [[nodiscard]] Result<SharedResponse> open(const Record& record) const {
    if (!core::is_sealed(*record.response)) {
      if (unsealed == Unsealed::accepted) return record.response;
      return fail(Code::corrupt, "stored response refused: it is not encrypted, and store.read_unencrypted is off");
    }
    return seals.open(*record.response,
                      {.id = record.key.id, .fence = record.fence, .fingerprint = record.fingerprint});
  }

  // Makes of what the store holds for `key` what the layers above are told: opened, and under the name that they have.
  [[nodiscard]] Result<void> give_back(Held& held, const Key& key) const {
    if (held.record.response != nullptr) {
      Result<SharedResponse> opened = open(held.record);
      if (!opened) return std::unexpected(std::move(opened.error()));
      held.record.response = *std::move(opened);
    }
    held.record.key.id = key.id;
    held.record.key.scope = key.scope;
    return {};
  }

  // Gives the event that an object is busy with the name that the layers above have for it. They asked for `key`, which
  // the store calls `named`.
  void rename_other(Key& other, const Key& key, const Key& named) {
    if (!names) return;
    const std::optional<Digest> asked = claims.asked(other.id);
    if (!asked) awaited.add(other.id, other.id);
    if (asked) other.id = *asked;
    if (other.scope == named.scope) other.scope = key.scope;
  }
};

class SealedEndings : public Endings {
 public:
  SealedEndings(std::shared_ptr<Safe> safe, Endings& inner) : safe_(std::move(safe)), inner_(inner) {}

  void watch(std::function<void(const Digest&)> ended) override {
    inner_.watch([safe = safe_, ended = std::move(ended)](const Digest& id) {
      ended(safe->names ? safe->awaited.take(id) : id);
    });
  }

  void expect(const Key& key) override {
    if (!safe_->names || safe_->awaited.is_of_the_store(key.id)) return inner_.expect(key);
    const Key named = safe_->named(key);
    safe_->awaited.add(named.id, key.id);
    inner_.expect(named);
  }

 private:
  const std::shared_ptr<Safe> safe_;
  Endings& inner_;
};

// The names of keys cannot be turned back, so nobody above can say which key it was.
class SealedChanges : public RemoteChanges {
 public:
  SealedChanges(std::shared_ptr<Safe> safe, RemoteChanges& inner) : safe_(std::move(safe)), inner_(inner) {}

  void watch(std::function<void(const Digest*)> changed) override {
    inner_.watch(
        [safe = safe_, changed = std::move(changed)](const Digest* id) { changed(safe->names ? nullptr : id); });
  }

 private:
  const std::shared_ptr<Safe> safe_;
  RemoteChanges& inner_;
};

class SealedReopening : public Reopening {
 public:
  SealedReopening(std::shared_ptr<Safe> safe, Reopening& inner) : safe_(std::move(safe)), inner_(inner) {}

  Async<bool> reopen(Key key) override { return inner_.reopen(safe_->named(key)); }

 private:
  const std::shared_ptr<Safe> safe_;
  Reopening& inner_;
};

class SealedGlance : public Glance {
 public:
  SealedGlance(std::shared_ptr<Safe> safe, Glance& inner) : safe_(std::move(safe)), inner_(inner) {}

  bool surely_free(const Key& key) override { return inner_.surely_free(safe_->named(key)); }

 private:
  const std::shared_ptr<Safe> safe_;
  Glance& inner_;
};

class SealedLookup : public Lookup {
 public:
  SealedLookup(std::shared_ptr<Safe> safe, Lookup& inner) : safe_(std::move(safe)), inner_(inner) {}

  Async<std::optional<Held>> look_up(Key key) override {
    const std::shared_ptr<Safe> safe = safe_;
    Result<std::optional<Held>> found = co_await inner_.look_up(safe->named(key));
    if (!found) co_return found;
    if (Result<void> opened = open(*safe, *found, key); !opened) co_return std::unexpected(std::move(opened.error()));
    co_return found;
  }

  [[nodiscard]] std::size_t together_max() const override { return inner_.together_max(); }

  Async<std::vector<std::optional<Held>>> look_up_together(std::vector<Key> keys) override {
    const std::shared_ptr<Safe> safe = safe_;
    std::vector<Key> named;
    named.reserve(keys.size());
    for (const Key& key : keys) named.push_back(safe->named(key));
    Result<std::vector<std::optional<Held>>> found = co_await inner_.look_up_together(std::move(named));
    if (!found) co_return found;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      Result<void> opened = open(*safe, (*found)[i], keys[i]);
      if (!opened) co_return std::unexpected(std::move(opened.error()));
    }
    co_return found;
  }

 private:
  static Result<void> open(const Safe& safe, std::optional<Held>& held, const Key& key) {
    return held ? safe.give_back(*held, key) : Result<void>();
  }

  const std::shared_ptr<Safe> safe_;
  Lookup& inner_;
};

// A response that an operator gives is bound to the key and the fence of the act.
class SealedDesk : public Desk {
 public:
  SealedDesk(std::shared_ptr<Safe> safe, Desk& inner) : safe_(std::move(safe)), inner_(inner) {}

  [[nodiscard]] Key named(Key key) const override { return inner_.named(safe_->named(key)); }

  Async<std::vector<Held>> find(std::string id_begins, std::size_t limit) override {
    const std::shared_ptr<Safe> safe = safe_;
    Result<std::vector<Held>> found = co_await inner_.find(std::move(id_begins), limit);
    if (!found) co_return found;
    for (Held& held : *found) {
      if (held.record.response == nullptr) continue;
      Result<SharedResponse> opened = safe->open(held.record);
      if (!opened && found->size() == 1) co_return std::unexpected(std::move(opened.error()));
      held.record.response = opened ? *std::move(opened) : nullptr;
    }
    co_return found;
  }

  Async<KeyList> list(KeyFilter filter, std::string cursor) override {
    return inner_.list(std::move(filter), std::move(cursor));
  }

  Async<void> settle(Digest id, core::Settlement settlement) override {
    if (settlement.response != nullptr) {
      const Fence fence{.number = settlement.fence.number, .owner = settlement.act};
      const core::Belonging belonging{.id = id, .fence = fence, .fingerprint = std::nullopt};
      settlement.response =
          std::make_shared<const Response>(safe_->seals.seal(*settlement.response, belonging, random_salt()));
    }
    return inner_.settle(id, std::move(settlement));
  }

 private:
  const std::shared_ptr<Safe> safe_;
  Desk& inner_;
};

class SealedStore : public Store {
 public:
  SealedStore(std::shared_ptr<Safe> safe, CapableStore inner) : safe_(std::move(safe)), inner_(std::move(inner.store)) {
    if (inner.endings != nullptr) endings_.emplace(safe_, *inner.endings);
    if (inner.reopening != nullptr) reopening_.emplace(safe_, *inner.reopening);
    if (inner.glance != nullptr) glance_.emplace(safe_, *inner.glance);
    if (inner.lookup != nullptr) lookup_.emplace(safe_, *inner.lookup);
    if (inner.desk != nullptr) desk_.emplace(safe_, *inner.desk);
    if (inner.changes != nullptr) changes_.emplace(safe_, *inner.changes);
    if (inner.history != nullptr) {
      history_.emplace(std::shared_ptr<const core::Seals>(safe_, &safe_->seals), *inner.history);
    }
    if (inner.notes != nullptr) {
      notes_.emplace(std::shared_ptr<const core::Seals>(safe_, &safe_->seals), *inner.notes);
    }
    if (inner.inbox != nullptr) inbox_.emplace(*inner.inbox, *inner.inbox_desk, safe_->seals, safe_->names);
    if (inner.inbox_jobs != nullptr) jobs_.emplace(*inner.inbox_jobs, safe_->names);
  }

  // What the store inside can do, and so this one.
  Endings* endings() { return endings_ ? &*endings_ : nullptr; }
  Reopening* reopening() { return reopening_ ? &*reopening_ : nullptr; }
  Glance* glance() { return glance_ ? &*glance_ : nullptr; }
  Lookup* lookup() { return lookup_ ? &*lookup_ : nullptr; }
  Desk* desk() { return desk_ ? &*desk_ : nullptr; }
  RemoteChanges* changes() { return changes_ ? &*changes_ : nullptr; }
  History* history() { return history_ ? &*history_ : nullptr; }
  Notes* notes() { return notes_ ? &*notes_ : nullptr; }
  SealedInbox* inbox() { return inbox_ ? &*inbox_ : nullptr; }
  InboxJobs* jobs() { return jobs_ ? &*jobs_ : nullptr; }

  Async<Claim> claim(Key key, Fingerprint fingerprint, Terms terms) override {
    const std::shared_ptr<Safe> safe = safe_;
    const Key named = safe->named(key);
    terms.order = safe->named(terms.order);
    Result<Claim> claimed = co_await inner_->claim(named, fingerprint, std::move(terms));
    if (!claimed) co_return claimed;
    if (const auto* granted = std::get_if<Granted>(&*claimed)) {
      safe->claims.add(named.id, {.fence = granted->fence, .fingerprint = fingerprint, .asked = key.id});
    }
    if (auto* const busy = std::get_if<Busy>(&*claimed)) safe->rename_other(busy->other.record.key, key, named);
    auto* const held = std::get_if<Held>(&*claimed);
    if (held == nullptr) co_return claimed;
    const Result<void> opened = safe->give_back(*held, key);
    if (!opened) co_return std::unexpected(opened.error());
    co_return claimed;
  }

  Async<void> renew(Key key, Fence fence, Millis lease) override {
    return inner_->renew(safe_->named(key), fence, lease);
  }

  Async<void> complete(Key key, Fence fence, SharedResponse response) override {
    const std::shared_ptr<Safe> safe = safe_;
    const Key named = safe->named(key);
    if (response != nullptr) {
      const core::Belonging belonging{
          .id = named.id, .fence = fence, .fingerprint = safe->claims.find(named.id, fence)};
      response = std::make_shared<const Response>(safe->seals.seal(*response, belonging, random_salt()));
    }
    Result<void> ended = co_await inner_->complete(named, fence, std::move(response));
    if (is_over(ended)) safe->claims.end(named.id, fence);
    co_return ended;
  }

  Async<void> release(Key key, Fence fence) override {
    const std::shared_ptr<Safe> safe = safe_;
    const Key named = safe->named(key);
    Result<void> ended = co_await inner_->release(named, fence);
    if (is_over(ended)) safe->claims.end(named.id, fence);
    co_return ended;
  }

  Async<std::size_t> sweep(std::size_t limit) override { return inner_->sweep(limit); }

 private:
  const std::shared_ptr<Safe> safe_;
  const std::unique_ptr<Store> inner_;
  std::optional<SealedEndings> endings_;
  std::optional<SealedReopening> reopening_;
  std::optional<SealedGlance> glance_;
  std::optional<SealedLookup> lookup_;
  std::optional<SealedDesk> desk_;
  std::optional<SealedChanges> changes_;
  std::optional<SealedHistory> history_;
  std::optional<SealedNotes> notes_;
  std::optional<SealedInbox> inbox_;
  std::optional<SealedJobs> jobs_;
};

}  // namespace

CapableStore make_sealed_store(CapableStore inner, const std::vector<core::AesKey>& keys, Unsealed unsealed) {
  auto safe = std::make_shared<Safe>(core::Seals(keys), unsealed);
  if (inner.identity) safe->names.emplace(*inner.identity);
  CapableStore outer;
  outer.audit = inner.audit;  // it holds ids and reasons, and no answers
  outer.roll = inner.roll;    // it holds ids as the store has them, and no answers
  auto sealed = std::make_unique<SealedStore>(std::move(safe), std::move(inner));
  outer.endings = sealed->endings();
  outer.reopening = sealed->reopening();
  outer.glance = sealed->glance();
  outer.lookup = sealed->lookup();
  outer.desk = sealed->desk();
  outer.changes = sealed->changes();
  outer.history = sealed->history();
  outer.notes = sealed->notes();
  outer.inbox = sealed->inbox();
  outer.inbox_desk = sealed->inbox();
  outer.inbox_jobs = sealed->jobs();
  outer.store = std::move(sealed);
  return outer;
}

}  // namespace semel::store
