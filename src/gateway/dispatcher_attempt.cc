// One attempt at a handler: called, judged, counted and noted.
#include <atomic>
#include <chrono>
#include <optional>
#include <utility>

#include "core/event_id.h"
#include "gateway/dispatcher.h"
#include "gateway/handler_call.h"
#include "gateway/handler_probe.h"
#include "gateway/plan.h"
#include "inbox/destination.h"
#include "inbox/verdict.h"
#include "runtime/failpoint.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "telemetry/attempt_pad.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/store.h>

namespace semel::gateway {

// What the store is to be told. None: others may have taken this process for dead, and nothing was sent.
Task<std::optional<store::SettleOrder>> Dispatcher::attempt(const Plan* plan, const inbox::Destination* destination,
                                                            const store::TakenDelivery* delivery,
                                                            const store::Parcel* parcel, inbox::Health* health) {
  const core::EventId& id = delivery->event.id;
  if (!inbox_.may_begin(id, destination->name)) co_return std::nullopt;
  const Time began = clock_.wall();
  const std::chrono::nanoseconds stopwatch = clock_.stopwatch();
  std::optional<HandlerAnswer> said = co_await ask_handler(plan, destination, delivery, parcel, &clock_);
  // A probe may take so long that another has begun the next attempt meanwhile.
  if (!said && !inbox_.may_begin(id, destination->name)) co_return std::nullopt;
  if (!said) said = co_await call_handler(plan, destination, delivery, parcel, &clock_);
  const HandlerAnswer& answer = *said;
  runtime::failpoint("event-answered");
  *health = answer.ruling.health;
  store::SettleOrder order =
      settlement_of(*delivery, *destination, answer, plan->config->inbox, clock_.now(), chance());
  if (answer.kept != nullptr) order.answer = [kept = answer.kept](const Record&) { return kept; };
  notes_.metrics.attempts.fetch_add(1, std::memory_order_relaxed);
  if (answer.ruling.fate != inbox::DeliveryFate::done) notes_.metrics.failures.fetch_add(1, std::memory_order_relaxed);
  if (notes_.attempts != nullptr) {
    notes_.attempts->add({.event = order.id,
                          .to = order.to,
                          .attempt = order.attempt,
                          .state = name(order.state),
                          .status = order.status,
                          .why = order.why,
                          .began = began,
                          .took = clock_.stopwatch() - stopwatch});
  }
  if (answer.ruling.gone) {
    store::DestinationControl control{
        .to = order.to, .paused = true, .until = std::nullopt, .reason = "it answered 410"};
    pause(control.to, control.until, control.reason);
    static_cast<void>(co_await desk_.control(std::move(control)));  // if it is lost, the next 410 pauses again
  }
  co_return order;
}

}  // namespace semel::gateway
