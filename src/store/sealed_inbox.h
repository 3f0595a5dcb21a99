// An inbox whose parcels are encrypted before another inbox keeps them, and whose keys and objects are named by the
// identity of that store, if it has one (sealed_store.h).
//
// A parcel is bound to the key of its event. Types, sources, sizes and times stay readable: lists go by them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/event_id.h"
#include "core/identity.h"
#include "core/seal.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::store {

class SealedInbox : public Inbox, public InboxDesk {
 public:
  // `inner` and `inner_desk` outlive it.
  SealedInbox(Inbox& inner, InboxDesk& inner_desk, core::Seals seals, std::optional<core::KeyNames> names);

  void tell_due(const DueListener& listener) override { inner_.tell_due(listener); }
  void tell_unread(const UnreadListener& listener) override { inner_.tell_unread(listener); }
  Async<Acceptance> accept(AcceptOrder order, AcceptReply reply) override;
  Async<TakenDeliveries> take(TakeOrder order) override { return inner_.take(std::move(order)); }
  Async<void> settle(SettleOrder order) override;
  Async<std::size_t> adopt(AdoptOrder order) override { return inner_.adopt(std::move(order)); }
  Async<std::optional<Parcel>> load(core::EventId id) override;
  [[nodiscard]] bool is_shared() const override { return inner_.is_shared(); }
  [[nodiscard]] bool may_begin(const core::EventId& id, const std::string& to) override {
    return inner_.may_begin(id, to);
  }
  [[nodiscard]] DeliveryShare share() override { return inner_.share(); }
  Async<std::vector<std::string>> lead(LeadOrder order) override { return inner_.lead(std::move(order)); }
  [[nodiscard]] bool leads(const std::string& to) override { return inner_.leads(to); }

  Async<std::optional<AcceptedEvent>> find(core::EventId id) override { return desk_.find(id); }
  Async<DeliveryList> list(DeliveryFilter filter, std::string cursor) override;
  Async<std::vector<DeliveryTally>> status() override { return desk_.status(); }
  Async<AcceptedEvent> change(DeliveryChange change) override { return desk_.change(std::move(change)); }
  Async<void> control(DestinationControl control) override { return desk_.control(std::move(control)); }
  Async<std::vector<DestinationControl>> controls() override { return desk_.controls(); }
  Async<bool> erase(core::EventId id, std::string reason) override { return desk_.erase(id, std::move(reason)); }
  Async<std::size_t> sweep_inbox(std::size_t limit) override { return desk_.sweep_inbox(limit); }

 private:
  Inbox& inner_;
  InboxDesk& desk_;
  const core::Seals seals_;
  const std::optional<core::KeyNames> names_;
};

// The name of an object in such a store. `names` may be missing.
ScopeDigest named_object(const std::optional<core::KeyNames>& names, const ScopeDigest& object);

}  // namespace semel::store
