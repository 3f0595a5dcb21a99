// The request to a handler is made of what the event came with; its answer becomes a ruling, and that a settlement.
#include "gateway/handler_call.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "core/ascii.h"
#include "core/check.h"
#include "core/event_id.h"
#include "core/field_view.h"
#include "gateway/parcel.h"
#include "gateway/plan.h"
#include "gateway/upstream_head.h"
#include "http/call.h"
#include "http/connection.h"
#include "http/failure.h"
#include "http/head.h"
#include "inbox/destination.h"
#include "inbox/schedule.h"
#include "inbox/verdict.h"
#include "policy/forward.h"
#include "policy/request_view.h"
#include "store/inbox.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::gateway {
namespace {

constexpr std::size_t answer_bytes_max = 64U << 10U;  // that are read so that the connection can be used again
constexpr std::string_view id_field = "Semel-Event";

inbox::Silence silence_of(http::CallEnd end) {
  if (end == http::CallEnd::not_reached) return inbox::Silence::not_reached;
  return end == http::CallEnd::timed_out ? inbox::Silence::timed_out : inbox::Silence::lost;
}

HandlerAnswer silent(inbox::Silence silence) {
  return {.ruling = inbox::rule_silence(silence), .status = 0, .why = inbox::silence_text(silence)};
}

// The fields of the event, and ours. Signed attempts have no other fields of those names.
std::vector<FieldView> fields_for(const Unpacked& unpacked, const std::string& id,
                                  const std::optional<inbox::AttemptSignature>& signature) {
  std::vector<FieldView> fields;
  for (const FieldView& field : unpacked.fields) {
    const bool ours = core::equal_ignoring_case(field.name, id_field) ||
                      (signature && (core::equal_ignoring_case(field.name, "webhook-id") ||
                                     core::equal_ignoring_case(field.name, "webhook-timestamp") ||
                                     core::equal_ignoring_case(field.name, "webhook-signature")));
    if (!ours) fields.push_back(field);
  }
  fields.push_back({.name = id_field, .value = id});
  if (!signature) return fields;
  fields.push_back({.name = "webhook-id", .value = signature->id});
  fields.push_back({.name = "webhook-timestamp", .value = signature->timestamp});
  fields.push_back({.name = "webhook-signature", .value = signature->signature});
  return fields;
}

struct OutgoingEvent {
  std::string head;
  std::string_view body;
};

// None if the event lacks what its target is made of.
std::optional<OutgoingEvent> outgoing(const Plan& plan, const inbox::Destination& destination,
                                      const store::TakenDelivery& delivery, const Unpacked& unpacked, Time now) {
  const std::optional<std::string> target = destination.target.render(unpacked.event);
  if (!target) return std::nullopt;
  const std::string id = delivery.event.id.text();
  std::optional<inbox::AttemptSignature> signature;
  if (!destination.sign.empty()) {
    signature = inbox::sign_attempt(destination.sign, "evt_" + id, unpacked.event.request.body, now);
  }
  const std::vector<FieldView> fields = fields_for(unpacked, id, signature);
  policy::RequestView request = unpacked.event.request;
  policy::set_target(request, *target);
  request.fields = fields;
  const policy::Hop hop{.scheme = unpacked.scheme,
                        .host = unpacked.host,
                        .version = "1.1",
                        .via = plan.config->server.name,
                        .forwarded = plan.config->server.forwarded,
                        .overrides = plan.config->server.overrides};
  const store::DeliveryRecord& to = delivery.event.deliveries[delivery.at];
  const BodyFrame frame{.framing = http::Framing::length, .length = request.body.size()};
  const Onward onward{.attempt = to.attempt, .body = frame};
  return OutgoingEvent{.head = upstream_head(plan.config->upstreams[destination.upstream], request, hop, onward),
                       .body = request.body};
}

}  // namespace

Task<HandlerAnswer> call_handler(const Plan* plan, const inbox::Destination* destination,
                                 const store::TakenDelivery* delivery, const store::Parcel* parcel, Clock* clock) {
  core::check(destination->upstream < plan->upstreams.size(), "a destination's upstream is one of its plan");
  const std::unique_ptr<const Unpacked> unpacked = unpack(*parcel);
  std::optional<OutgoingEvent> request = outgoing(*plan, *destination, *delivery, *unpacked, clock->wall());
  if (!request) {
    HandlerAnswer unaddressed;
    unaddressed.ruling.fate = inbox::Fate::dead;
    unaddressed.why = "the event lacks a part of the target";
    co_return unaddressed;
  }
  http::Call call(*plan->upstreams[destination->upstream], plan->config->upstreams[destination->upstream].timeout);
  std::string_view body = request->body;
  if (body.size() <= http::joined_bytes_max) request->head.append(std::exchange(body, {}));
  http::CallEnd end = co_await call.send(request->head, body);
  if (end == http::CallEnd::answered) end = co_await call.read_head();
  if (end != http::CallEnd::answered) co_return silent(silence_of(end));
  // What the handler says stands in the head. The rest is read so that the connection can be used again.
  const http::Try<std::string> rest = co_await call.read_body_up_to(answer_bytes_max);
  HandlerAnswer answer;
  answer.status = call.head().status();
  answer.ruling = inbox::rule_answer(answer.status, call.head().fields(), destination->fatal, clock->wall());
  answer.why = "answered " + std::to_string(answer.status);
  if (rest) call.finish();
  co_return answer;
}

store::SettleOrder settlement_of(const store::TakenDelivery& delivery, const inbox::Destination& destination,
                                 const HandlerAnswer& answer, const config::InboxConfig& config, Time now,
                                 double chance) {
  const store::DeliveryRecord& to = delivery.event.deliveries[delivery.at];
  store::SettleOrder order;
  order.id = delivery.event.id;
  order.to = to.to;
  order.attempt = to.attempt;
  order.status = answer.status;
  order.why = answer.why;
  order.retain_ended = config.retain_dead;
  const bool held = answer.ruling.fate == inbox::Fate::unknown && destination.on_unknown == inbox::OnSilence::hold;
  if (answer.ruling.fate == inbox::Fate::done) {
    order.state = store::DeliveryState::done;
    order.retain_ended = config.retain_done;
    return order;
  }
  if (answer.ruling.fate == inbox::Fate::dead || held) {
    order.state = held ? store::DeliveryState::unknown : store::DeliveryState::dead;
    return order;
  }
  const inbox::FailedAttempt failure{.tries = to.tries + 1,
                                     .age = std::max(now - to.since, Millis{0}),
                                     .retry_after = answer.ruling.retry_after,
                                     .hopeless = answer.ruling.hopeless};
  const std::optional<Millis> wait = inbox::next_wait(destination.schedule, failure, chance);
  order.state = wait ? store::DeliveryState::waiting : store::DeliveryState::dead;
  order.wait = wait.value_or(Millis{0});
  if (!wait) order.why = "given up after attempt " + std::to_string(to.attempt) + ": " + answer.why;
  return order;
}

}  // namespace semel::gateway
