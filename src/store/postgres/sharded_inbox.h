// The inboxes of several databases as one. An event lives where its key does; who knows only its id asks all of them.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/event_id.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "store/lookup.h"
#include <semel/async.h>
#include <semel/key.h>

namespace semel::store::postgres {

class ShardedInbox : public Inbox, public InboxDesk {
 public:
  struct Part {
    Inbox* inbox = nullptr;
    InboxDesk* desk = nullptr;
  };
  // Which part a key belongs to, and where it was before, if it has moved since; null if it has not.
  struct Places {
    std::function<std::size_t(const Key&)> home;
    std::function<Lookup*(const Key&)> former;
    std::size_t first = 0;  // the part that is asked what all of them have in common; the same on every gateway
  };
  // In an order that is the same on every gateway. There is at least one, and all outlive this.
  ShardedInbox(std::vector<Part> parts, Places places) : parts_(std::move(parts)), places_(std::move(places)) {}

  Async<Acceptance> accept(AcceptOrder order, AcceptReply reply) override;
  Async<TakenDeliveries> take(TakeOrder order) override;
  Async<void> settle(SettleOrder order) override;
  Async<std::size_t> adopt(AdoptOrder order) override;
  Async<std::optional<Parcel>> load(core::EventId id) override;
  [[nodiscard]] bool is_shared() const override { return true; }
  [[nodiscard]] bool may_begin(const core::EventId& id, const std::string& to) override;
  [[nodiscard]] DeliveryShare share() override { return parts_[places_.first].inbox->share(); }
  Async<std::vector<std::string>> lead(LeadOrder order) override {
    return parts_[places_.first].inbox->lead(std::move(order));
  }
  [[nodiscard]] bool leads(const std::string& to) override { return parts_[places_.first].inbox->leads(to); }

  Async<std::optional<AcceptedEvent>> find(core::EventId id) override;
  Async<DeliveryList> list(DeliveryFilter filter, std::string cursor) override;
  Async<std::vector<DeliveryTally>> status() override;
  Async<AcceptedEvent> change(DeliveryChange change) override;
  Async<void> control(DestinationControl control) override;
  Async<std::vector<DestinationControl>> controls() override;
  Async<bool> erase(core::EventId id, std::string reason) override;
  Async<std::size_t> sweep_inbox(std::size_t limit) override;

 private:
  const std::vector<Part> parts_;
  const Places places_;
  std::size_t next_ = 0;  // of take(), which one coroutine calls: where it begins
};

}  // namespace semel::store::postgres
