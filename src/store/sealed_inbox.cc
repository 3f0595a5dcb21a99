#include "store/sealed_inbox.h"

#include <algorithm>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "core/event_id.h"
#include "core/identity.h"
#include "core/seal.h"
#include "store/identity.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include <semel/async.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store {
namespace {

core::Belonging belonging_of(const Digest& key) {
  return {.id = key, .fence = {}, .fingerprint = std::nullopt};
}

}  // namespace

SealedInbox::SealedInbox(Inbox& inner, InboxDesk& inner_desk, core::Seals seals, std::optional<core::KeyNames> names)
    : inner_(inner), desk_(inner_desk), seals_(std::move(seals)), names_(std::move(names)) {}

ScopeDigest named_object(const std::optional<core::KeyNames>& names, const ScopeDigest& object) {
  if (!names) return object;
  Key key;
  std::ranges::copy(object, key.id.begin());
  const Key other = names->name(std::move(key));
  ScopeDigest name{};
  std::copy_n(other.id.begin(), name.size(), name.begin());
  return name;
}

Async<Acceptance> SealedInbox::accept(AcceptOrder order, AcceptReply reply) {
  const Digest asked = order.key.id;
  const ScopeDigest scope = order.key.scope;
  if (names_) order.key = names_->name(std::move(order.key));
  order.line.object = named_object(names_, order.line.object);
  const Digest id = order.key.id;
  const Fingerprint fingerprint = order.fingerprint;
  order.parcel = std::make_shared<const Parcel>(seals_.seal(*order.parcel, belonging_of(id), random_salt()));
  AcceptReply sealed = [this, &reply, fingerprint](const core::EventId& event, const Key& key, const Fence& fence) {
    const core::Belonging belonging{.id = key.id, .fence = fence, .fingerprint = fingerprint};
    return std::make_shared<const Response>(seals_.seal(*reply(event, key, fence), belonging, random_salt()));
  };
  Result<Acceptance> accepted = co_await inner_.accept(std::move(order), std::move(sealed));
  if (!accepted) co_return accepted;
  auto* const known = std::get_if<KnownEvent>(&*accepted);
  if (known == nullptr) co_return accepted;
  known->held.record.response = nullptr;  // nobody needs it, and it is sealed
  known->held.record.key.id = asked;
  known->held.record.key.scope = scope;
  co_return accepted;
}

Async<void> SealedInbox::settle(SettleOrder order) {
  if (order.answer) {
    order.answer = [this, answer = std::move(order.answer)](const Record& record) {
      const core::Belonging belonging{.id = record.key.id, .fence = record.fence, .fingerprint = record.fingerprint};
      return std::make_shared<const Response>(seals_.seal(*answer(record), belonging, random_salt()));
    };
  }
  return inner_.settle(std::move(order));
}

Async<std::optional<Parcel>> SealedInbox::load(core::EventId id) {
  const Result<std::optional<AcceptedEvent>> found = co_await desk_.find(id);
  if (!found) co_return std::unexpected(found.error());
  const Result<std::optional<Parcel>> loaded = co_await inner_.load(id);
  if (!loaded) co_return std::unexpected(loaded.error());
  const std::optional<AcceptedEvent>& event = *found;
  const std::optional<Parcel>& parcel = *loaded;
  if (!event || !parcel) co_return std::nullopt;
  if (!core::is_sealed(*parcel)) co_return fail(Code::corrupt, "event " + id.text() + " is not encrypted");
  const Result<SharedResponse> opened = seals_.open(*parcel, belonging_of(event->key));
  if (!opened) co_return std::unexpected(opened.error());
  co_return **opened;
}

Async<DeliveryList> SealedInbox::list(DeliveryFilter filter, std::string cursor) {
  if (filter.object) filter.object = named_object(names_, *filter.object);
  return desk_.list(std::move(filter), std::move(cursor));
}

}  // namespace semel::store
