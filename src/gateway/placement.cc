#include "gateway/placement.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "config/config.h"
#include "gateway/destination_gate.h"
#include "gateway/dispatcher.h"
#include "gateway/incoming.h"
#include "gateway/plan.h"
#include "gateway/services.h"
#include "http/transaction.h"
#include "inbox/destination.h"
#include "inbox/event_view.h"
#include "inbox/filter.h"
#include "store/inbox.h"
#include <semel/clock.h>

namespace semel::gateway {

std::vector<store::AcceptOrder::To> destinations_of(const Incoming& incoming, const inbox::InboxRules& intake,
                                                    const inbox::EventView& event, Start start) {
  std::vector<store::AcceptOrder::To> to;
  const Time now = incoming.services.clock.now();
  for (const inbox::Outlet& outlet : intake.deliver) {
    store::AcceptOrder::To each;
    each.name = incoming.config().destinations[outlet.to].name;
    if (outlet.when && !outlet.when->takes(event)) {
      each.skipped_by = outlet.when->text();
    } else if (start == Start::at_once) {
      const auto gate = incoming.services.dispatcher->gates().find(each.name);
      each.room = gate != nullptr && gate->enter(1, now) == 1;
    }
    to.push_back(std::move(each));
  }
  return to;
}

void follow_up(const Incoming& incoming, const std::vector<store::AcceptOrder::To>& wanted,
               const store::AcceptedEvent* event, const std::shared_ptr<const store::Parcel>& parcel) {
  const Ground ground{.dispatcher = *incoming.services.dispatcher,
                      .plan = incoming.plan.shared_from_this(),
                      .executor = incoming.client.executor()};
  follow_up(ground, wanted, event, parcel);
}

void follow_up(const Ground& ground, const std::vector<store::AcceptOrder::To>& wanted,
               const store::AcceptedEvent* event, const std::shared_ptr<const store::Parcel>& parcel) {
  Dispatcher& dispatcher = ground.dispatcher;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const store::DeliveryRecord* const delivery = event == nullptr ? nullptr : &event->deliveries[i];
    const bool runs = delivery != nullptr && delivery->state == store::DeliveryState::running;
    if (wanted[i].room && !runs) dispatcher.gates().find(wanted[i].name)->withdraw(1);
    if (runs) dispatcher.launch(ground.plan, {.event = *event, .at = i}, parcel, ground.executor);
    if (delivery == nullptr || delivery->state != store::DeliveryState::waiting || delivery->in_line) continue;
    dispatcher.expect(delivery->to, delivery->due);
  }
}

}  // namespace semel::gateway
