// The request to a handler is made of what the event came with; its answer becomes a ruling, and that a settlement.
#include "gateway/handler_call.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
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
#include "policy/keep.h"
#include "policy/request_view.h"
#include "policy/route.h"
#include "policy/target.h"
#include "runtime/failpoint.h"
#include "store/inbox.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/once.h>
#include <semel/response.h>

namespace semel::gateway {
namespace {

constexpr std::size_t answer_bytes_max = 64U << 10U;  // that are read so that the connection can be used again
constexpr std::string_view id_field = "Semel-Event";

inbox::Silence silence_of(http::CallEnd end) {
  if (end == http::CallEnd::not_reached) return inbox::Silence::not_reached;
  return end == http::CallEnd::timed_out ? inbox::Silence::timed_out : inbox::Silence::lost;
}

HandlerAnswer silent(inbox::Silence silence) {
  return {.ruling = inbox::rule_silence(silence), .status = 0, .why = inbox::silence_text(silence), .kept = nullptr};
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

// The route that a request came to. Null if it is an event, or the configuration has no such route any more.
const policy::Route* route_of(const Plan& plan, const Unpacked& unpacked) {
  if (!unpacked.sender) return nullptr;
  const std::vector<policy::Route>& routes = plan.config->routes;
  const auto same = [&](const policy::Route& route) { return route.path.text == unpacked.sender->route; };
  const auto found = std::ranges::find_if(routes, same);
  return found == routes.end() ? nullptr : &*found;
}

// To a request, an answer is an answer, whatever its status says; the route's rules tell which are none. It is dead if
// the answer says so in words.
void judge_for_sender(const http::Head& head, const policy::Target& target, HandlerAnswer& answer) {
  const Verdict verdict = policy::judge(head.status(), head.fields(), target.keep).verdict;
  answer.ruling.gone = false;
  answer.ruling.hopeless = false;
  if (answer.ruling.fate == inbox::DeliveryFate::dead) return;
  answer.ruling.fate = verdict == Verdict::keep      ? inbox::DeliveryFate::done
                       : verdict == Verdict::release ? inbox::DeliveryFate::later
                                                     : inbox::DeliveryFate::unknown;
}

SharedResponse kept_for_sender(const http::Head& head, std::string_view body, const policy::Target& target,
                               std::string_view replayed_header) {
  const policy::KeepTerms terms{.store_body_max = target.store_body_max,
                                .replay_fields = target.replay_fields,
                                .replayed_header = replayed_header};
  auto kept = std::make_shared<Response>(policy::to_keep(head.status(), head.fields(), body, terms));
  std::erase_if(kept->fields, [](const Field& field) { return core::equal_ignoring_case(field.name, id_field); });
  return kept;
}

}  // namespace

Task<HandlerAnswer> call_handler(const Plan* plan, const inbox::Destination* destination,
                                 const store::TakenDelivery* delivery, const store::Parcel* parcel, Clock* clock) {
  core::check(destination->upstream < plan->upstreams.size(), "a destination's upstream is one of its plan");
  const std::unique_ptr<const Unpacked> unpacked = unpack(*parcel);
  std::optional<OutgoingEvent> request = outgoing(*plan, *destination, *delivery, *unpacked, clock->wall());
  if (!request) {
    HandlerAnswer unaddressed;
    unaddressed.ruling.fate = inbox::DeliveryFate::dead;
    unaddressed.why = "the event lacks a part of the target";
    co_return unaddressed;
  }
  http::Call call(*plan->upstreams[destination->upstream], plan->config->upstreams[destination->upstream].timeout);
  std::string_view body = request->body;
  if (body.size() <= http::joined_bytes_max) request->head.append(std::exchange(body, {}));
  http::CallEnd end = co_await call.send(request->head, body);
  runtime::failpoint("event-sent");
  if (end == http::CallEnd::answered) end = co_await call.read_head();
  if (end != http::CallEnd::answered) co_return silent(silence_of(end));
  // What the handler says stands in the head. The rest is read so that the connection can be used again.
  // To a request it is the answer.
  const policy::Route* const route = route_of(*plan, *unpacked);
  const std::size_t bytes_max = unpacked->sender && route != nullptr ? route->target.store_body_max : answer_bytes_max;
  const http::Try<std::string> rest = co_await call.read_body_up_to(bytes_max);
  if (unpacked->sender && !rest) {
    co_return silent(rest.error() == http::Failure::timed_out ? inbox::Silence::timed_out : inbox::Silence::lost);
  }
  HandlerAnswer answer;
  answer.status = call.head().status();
  const std::vector<std::uint16_t> fatal = unpacked->sender ? std::vector<std::uint16_t>() : destination->fatal;
  answer.ruling = inbox::rule_answer(answer.status, call.head().fields(), fatal, clock->wall());
  answer.why = "answered " + std::to_string(answer.status);
  if (unpacked->sender) {
    policy::Target fallback;
    fallback.store_body_max = answer_bytes_max;
    const policy::Target& target = route == nullptr ? fallback : route->target;
    judge_for_sender(call.head(), target, answer);
    if (answer.ruling.fate == inbox::DeliveryFate::done) {
      answer.kept = kept_for_sender(call.head(), *rest, target, plan->config->reply.replayed_header);
    }
  }
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
  const bool unknown = answer.ruling.fate == inbox::DeliveryFate::unknown;
  const bool probes = destination.on_unknown == inbox::OnSilence::probe;
  // A probe could not tell what an operator has sent again from what was there before.
  const bool asked_for = to.urgency == store::Urgency::replay;
  const bool held =
      unknown && (destination.on_unknown == inbox::OnSilence::hold || (probes && (asked_for || !answer.askable)));
  if (answer.ruling.fate == inbox::DeliveryFate::done) {
    order.state = store::DeliveryState::done;
    order.retain_ended = config.retain_done;
    return order;
  }
  if (answer.ruling.fate == inbox::DeliveryFate::dead || held) {
    order.state = held ? store::DeliveryState::unknown : store::DeliveryState::dead;
    return order;
  }
  const inbox::FailedAttempt failure{.tries = to.tries + 1,
                                     .age = std::max(now - to.since - delivery.event.line.reorder, Millis{0}),
                                     .retry_after = answer.ruling.retry_after,
                                     .hopeless = answer.ruling.hopeless};
  const std::optional<Millis> wait = inbox::next_wait(destination.schedule, failure, chance);
  const store::DeliveryState given_up = unknown && probes ? store::DeliveryState::unknown : store::DeliveryState::dead;
  order.state = wait ? store::DeliveryState::waiting : given_up;
  order.wait = wait.value_or(Millis{0});
  if (!wait) order.why = "given up after attempt " + std::to_string(to.attempt) + ": " + answer.why;
  return order;
}

}  // namespace semel::gateway
