// The probe is a GET with the fields that the event came with; what its answer means is said by policy/keep.h.
#include "gateway/handler_probe.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "core/ascii.h"
#include "core/event_id.h"
#include "core/field_view.h"
#include "gateway/attempt.h"
#include "gateway/handler_call.h"
#include "gateway/parcel.h"
#include "gateway/plan.h"
#include "gateway/upstream_head.h"
#include "http/call.h"
#include "inbox/destination.h"
#include "inbox/verdict.h"
#include "policy/forward.h"
#include "policy/request_view.h"
#include "policy/target.h"
#include "store/inbox.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/once.h>
#include <semel/response.h>

namespace semel::gateway {
namespace {

constexpr std::string_view id_field = "Semel-Event";

bool is_to_ask(const inbox::Destination& destination, const store::DeliveryRecord& to) {
  return destination.on_unknown == inbox::OnSilence::probe && to.attempt > 1 && to.urgency != store::Urgency::replay;
}

// None if the event lacks a part of the target.
std::optional<std::string> target_of(const inbox::Destination& destination, const Unpacked& unpacked) {
  if (!unpacked.probe.empty()) return std::string(unpacked.probe);
  if (destination.probe.text().empty()) return std::nullopt;
  return destination.probe.render(unpacked.event);
}

std::string head_of(const Plan& plan, const inbox::Destination& destination, const Unpacked& unpacked,
                    const std::string& id, const std::string& target) {
  std::vector<FieldView> fields;
  for (const FieldView& field : unpacked.fields) {
    if (!core::equal_ignoring_case(field.name, id_field)) fields.push_back(field);
  }
  fields.push_back({.name = id_field, .value = id});
  policy::RequestView request = unpacked.event.request;
  request.fields = fields;
  const policy::Hop hop{.scheme = unpacked.scheme,
                        .host = unpacked.host,
                        .version = "1.1",
                        .via = plan.config->server.name,
                        .forwarded = plan.config->server.forwarded,
                        .overrides = plan.config->server.overrides};
  return probe_head(plan.config->upstreams[destination.upstream], request, hop, target);
}

// The health of the upstream and its Retry-After count, whatever the answer says of the event.
HandlerAnswer unclear(const Attempt& asking, const inbox::Destination& destination, Time now) {
  HandlerAnswer answer;
  if (asking.end() == http::CallEnd::answered) {
    answer.status = asking.answer().status();
    answer.ruling = inbox::rule_answer(answer.status, asking.answer().fields(), destination.fatal, now);
    answer.why = "the probe was answered " + std::to_string(answer.status);
  } else {
    const bool late = asking.end() == http::CallEnd::timed_out;
    answer.ruling = inbox::rule_silence(late ? inbox::Silence::timed_out : inbox::Silence::lost);
    answer.why = "the probe was not answered";
  }
  answer.ruling.fate = inbox::DeliveryFate::unknown;
  answer.ruling.gone = answer.ruling.hopeless = false;
  return answer;
}

}  // namespace

Task<std::optional<HandlerAnswer>> ask_handler(const Plan* plan, const inbox::Destination* destination,
                                               const store::TakenDelivery* delivery, const store::Parcel* parcel,
                                               Clock* clock) {
  if (!is_to_ask(*destination, delivery->event.deliveries[delivery->at])) co_return std::nullopt;
  const std::unique_ptr<const Unpacked> unpacked = unpack(*parcel);
  const std::optional<std::string> target = target_of(*destination, *unpacked);
  HandlerAnswer answer;
  if (!target) {
    answer.ruling.fate = inbox::DeliveryFate::unknown;
    answer.why = "the event lacks a part of the probe";
    answer.askable = false;
    co_return answer;
  }
  policy::Target keeping;
  keeping.store_body_max = plan->config->limits.store_body_max;
  const config::UpstreamConfig& upstream = plan->config->upstreams[destination->upstream];
  Attempt asking(*plan->upstreams[destination->upstream], upstream, keeping, plan->config->reply.replayed_header);
  std::string head = head_of(*plan, *destination, *unpacked, delivery->event.id.text(), *target);
  const Outcome outcome = co_await asking.ask(std::move(head));
  if (outcome.verdict == Verdict::release) co_return std::nullopt;
  if (outcome.verdict != Verdict::keep) co_return unclear(asking, *destination, clock->wall());
  answer.ruling.fate = inbox::DeliveryFate::done;
  answer.status = asking.answer().status();
  answer.why = "the probe says that an earlier attempt took effect";
  if (unpacked->sender && outcome.response != nullptr) {
    auto kept = std::make_shared<Response>(*outcome.response);
    std::erase_if(kept->fields, [](const Field& field) { return core::equal_ignoring_case(field.name, id_field); });
    answer.kept = std::move(kept);
  }
  co_return answer;
}

}  // namespace semel::gateway
