// The key, the fingerprint and the parcel of an effect; then the same way into the inbox as an event has (intake.cc).
#include "gateway/effect.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "config/config.h"
#include "core/ascii.h"
#include "core/encoding.h"
#include "core/event_id.h"
#include "core/field_view.h"
#include "core/printable.h"
#include "core/sha256.h"
#include "gateway/destination_gate.h"
#include "gateway/dispatcher.h"
#include "gateway/parcel.h"
#include "gateway/placement.h"
#include "gateway/plan.h"
#include "inbox/destination.h"
#include "inbox/event_view.h"
#include "policy/fields.h"
#include "policy/forward.h"
#include "policy/request_view.h"
#include "reading/units.h"
#include "store/inbox.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/derived_key.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::gateway {
namespace {

constexpr std::string_view key_field = "Idempotency-Key";
constexpr std::string_view event_field = "Semel-Event";

EffectAnswer answered(EffectEnd end, std::string detail = {}) {
  return {.end = end, .detail = std::move(detail)};
}

// What makes two effects the same one. When it is to happen is not part of it: code that runs again says "in an hour"
// once more.
Fingerprint print_of(const EffectOrder& effect) {
  std::string fields;
  for (const Field& field : effect.fields) {
    for (const std::string& text : {field.name, field.value}) fields += std::to_string(text.size()) + ":" + text;
  }
  return {.digest = core::sha256_parts("semel effect v1",
                                       {effect.destination, effect.type, effect.object, fields, effect.body})};
}

// Of the object of an effect; its home is that of all effects of the object.
Result<Key> object_key_of(const EffectOrder& effect) {
  const Digest digest = core::sha256_parts("semel effect object v1", {effect.destination, effect.object});
  Result<Key> key = make_key(effect.source, {}, std::string(1, '\x02') + core::to_hex(digest));
  if (key) std::memcpy(&key->home, key->id.data(), sizeof(key->home));
  return key;
}

// An effect that has to wait and has no object is the only one of a line of its own, which is not looked at before.
store::Line line_of(const EffectOrder& effect, const Key& key, const Key* object) {
  store::Line line;
  const Key& named = object == nullptr ? key : *object;
  std::memcpy(line.object.data(), named.id.data(), line.object.size());
  if (object == nullptr && effect.wait <= Millis{0}) return line;
  line.kind = store::Line::Kind::fifo;
  line.stamp = object == nullptr ? "0" : effect.stamp;
  line.reorder = std::max(effect.wait, Millis{0});
  return line;
}

constexpr std::size_t line_bytes = 4;         // of a field, beside its name and value
constexpr std::size_t shown_name_bytes = 64;  // of a name, in a reason

// Whether a receiver can know a repetition by it. What else its keys must look like is the receiver's own affair.
bool is_key(std::string_view value) {
  const auto visible = [](char c) { return c >= ' ' && c <= '~'; };
  return !value.empty() && value != R"("")" && value.size() <= key_text_bytes_max &&
         std::ranges::all_of(value, visible);
}

// Why the fields can never be sent, and what to do; empty if they can. The limits are those for requests that come.
std::string fault_in(const std::vector<Field>& fields, const config::LimitsConfig& limits) {
  constexpr std::string_view remedy = "send it in the body, or raise the limit and replay it";
  if (fields.size() > limits.header_fields) {
    return fmt::format("it has {} headers, over limits.header_fields ({}): {}", fields.size(), limits.header_fields,
                       remedy);
  }
  std::set<std::string> names;
  std::size_t bytes = 0;
  for (const Field& field : fields) {
    const std::string shown = core::printable(field.name, shown_name_bytes);
    const std::size_t line = field.name.size() + field.value.size() + line_bytes;
    bytes += line;
    if (line > limits.header_line_bytes) {
      return fmt::format("the header {} is over limits.header_line_bytes ({}): {}", shown,
                         reading::bytes_text(limits.header_line_bytes), remedy);
    }
    if (!policy::is_field_name(field.name)) {
      return fmt::format("a header cannot have the name \"{}\": send it under one of letters, digits and -", shown);
    }
    if (!policy::is_field_value(field.value)) {
      return fmt::format(
          "the value of the header {} cannot be sent: send it without control characters and spaces "
          "around it",
          shown);
    }
    if (core::equal_ignoring_case(field.name, key_field) && !is_key(field.value)) {
      return "the header Idempotency-Key must have 1 to 255 characters, all of them ASCII: send it without one, and "
             "one "
             "is derived";
    }
    if (!names.insert(core::to_lower(field.name)).second) {
      return fmt::format("the header {} is there in two spellings: send it once", shown);
    }
  }
  if (bytes <= limits.header_bytes) return {};
  return fmt::format("its headers are over limits.header_bytes ({}): {}", reading::bytes_text(limits.header_bytes),
                     remedy);
}

std::shared_ptr<const store::Parcel> parcel_of(const EffectOrder& effect, const Key& key) {
  const std::string derived = derived_key(key, effect.destination);
  std::vector<FieldView> fields;
  bool keyed = false;
  for (const Field& field : effect.fields) {
    const bool names_key = core::equal_ignoring_case(field.name, key_field);
    if (names_key && !is_key(field.value)) continue;  // it was refused for that, and somebody replays it
    keyed = keyed || names_key;
    fields.push_back({.name = field.name, .value = field.value});
  }
  if (!keyed) fields.push_back({.name = key_field, .value = derived});
  inbox::EventView event{.request = {}, .type = effect.type, .object = effect.object};
  event.request.method = "POST";
  policy::set_target(event.request, "/");
  event.request.fields = fields;
  event.request.body = effect.body;
  const Packing packing{.credentials = true, .sender = {}};
  return pack(event, policy::Hop{}, packing);
}

store::AcceptReply reply_of() {
  return [](const core::EventId& id, const Key&, const Fence&) {
    Response response{.status = 202, .fields = {}, .body = {}};
    response.fields.push_back({.name = std::string(event_field), .value = id.text()});
    return std::make_shared<const Response>(std::move(response));
  };
}

EffectAnswer answer_to(const Result<store::Acceptance>& accepted, const Fingerprint& print) {
  if (!accepted) return answered(EffectEnd::unavailable, accepted.error().detail);
  if (const auto* full = std::get_if<store::InboxFull>(&*accepted)) return answered(EffectEnd::full, full->what);
  const auto* const known = std::get_if<store::KnownEvent>(&*accepted);
  if (known == nullptr) return answered(EffectEnd::accepted);
  const Record& record = known->held.record;
  if (record.fingerprint != print) return answered(EffectEnd::reused, "the key was used for another effect");
  if (record.state == Record::State::done) return answered(EffectEnd::known);
  return answered(EffectEnd::unavailable, "the key is in use");
}

store::AcceptOrder order_of(Dispatcher& dispatcher, const EffectOrder& effect, const config::InboxConfig& inbox) {
  store::AcceptOrder order;
  order.fingerprint = print_of(effect);
  order.ttl = effect.ttl + std::max(effect.wait, Millis{0});
  order.owner = dispatcher.next_owner();
  order.source = effect.source;
  order.type = effect.type;
  order.depth_max = effect.depth_max;
  order.bytes_max = inbox.bytes_max;
  order.retain_ended = inbox.retain_done;
  return order;
}

}  // namespace

Task<EffectAnswer> accept_effect_at(Dispatcher* dispatcher, const Dispatcher::Seat* seat, const EffectOrder* effect) {
  if (dispatcher->draining()) co_return answered(EffectEnd::unavailable, "the gateway is stopping");
  const std::shared_ptr<const Plan> plan = seat->plan();
  const auto& destinations = plan->config->destinations;
  if (std::ranges::find(destinations, effect->destination, &inbox::Destination::name) == destinations.end()) {
    co_return answered(EffectEnd::refused, "there is no [destination." + effect->destination + "]");
  }
  std::string fault = fault_in(effect->fields, plan->config->limits);
  if (!effect->object.empty() && effect->stamp.empty()) fault = "an effect of an object needs a stamp";
  if (!fault.empty()) co_return answered(EffectEnd::refused, std::move(fault));
  Result<Key> key = make_key(effect->source, {}, effect->key);
  if (!key) co_return answered(EffectEnd::refused, key.error().detail);
  const Result<Key> object = object_key_of(*effect);
  const bool ordered = object && !effect->object.empty();
  if (ordered) key->home = object->home;
  store::AcceptOrder order = order_of(*dispatcher, *effect, plan->config->inbox);
  order.key = *key;
  order.line = line_of(*effect, *key, ordered ? &*object : nullptr);
  order.parcel = parcel_of(*effect, *key);
  const auto gate = dispatcher->gates().find(effect->destination);
  const bool at_once = gate != nullptr && order.line.reorder == Millis{0};
  order.to.push_back({.name = effect->destination,
                      .room = at_once && gate->enter(1, dispatcher->clock().now()) == 1,
                      .skipped_by = {}});
  const std::vector<store::AcceptOrder::To> to = order.to;
  const std::shared_ptr<const store::Parcel> parcel = order.parcel;
  const Fingerprint print = order.fingerprint;
  store::AcceptReply reply = reply_of();
  const Result<store::Acceptance> accepted = co_await dispatcher->inbox().accept(std::move(order), std::move(reply));
  const store::AcceptedEvent* const taken = accepted ? std::get_if<store::AcceptedEvent>(&*accepted) : nullptr;
  const Ground ground{.dispatcher = *dispatcher, .plan = plan, .executor = seat->executor};
  follow_up(ground, to, taken, parcel);
  co_return answer_to(accepted, print);
}

namespace {

// Under the key itself; if that belongs to another effect, under a name of its own.
Result<Key> grave_of(const EffectOrder& effect, const Fingerprint& print, EffectEnd before) {
  if (before != EffectEnd::reused) return make_key(effect.source, {}, effect.key);
  const std::string_view bytes(reinterpret_cast<const char*>(print.digest.data()), print.digest.size());
  const Digest named = core::sha256_parts("semel dead effect v1", {effect.key, bytes});
  return make_key(effect.source, {}, std::string(1, '\x03') + core::to_hex(named));
}

}  // namespace

Task<EffectAnswer> bury_effect_at(Dispatcher* dispatcher, const Dispatcher::Seat* seat, const EffectOrder* effect,
                                  const std::string* why) {
  EffectAnswer answer;
  const Result<Key> object = object_key_of(*effect);
  const bool ordered = object && !effect->object.empty();
  do {
    if (dispatcher->draining()) co_return answered(EffectEnd::unavailable, "the gateway is stopping");
    const config::InboxConfig& inbox = seat->plan()->config->inbox;
    store::AcceptOrder order = order_of(*dispatcher, *effect, inbox);
    const Fingerprint print = order.fingerprint;
    Result<Key> key = grave_of(*effect, print, answer.end);
    if (!key) co_return answered(EffectEnd::refused, key.error().detail);
    if (ordered) key->home = object->home;
    order.key = *key;
    order.retain_ended = inbox.retain_dead;
    order.line = line_of(*effect, *key, ordered ? &*object : nullptr);
    order.line.kind = store::Line::Kind::none;
    order.parcel = parcel_of(*effect, *key);
    order.to.push_back({.name = effect->destination, .room = false, .skipped_by = {}, .dead_for = *why});
    store::AcceptReply reply = reply_of();
    const bool last = answer.end == EffectEnd::reused;
    const Result<store::Acceptance> accepted = co_await dispatcher->inbox().accept(std::move(order), std::move(reply));
    answer = answer_to(accepted, print);
    if (last) break;
  } while (answer.end == EffectEnd::reused);
  co_return answer;
}

Task<EffectAnswer> accept_effect(Dispatcher* dispatcher, EffectOrder effect) {
  const Dispatcher::Seat& seat = dispatcher->next_seat();
  co_return co_await boost::asio::co_spawn(seat.executor, accept_effect_at(dispatcher, &seat, &effect),
                                           boost::asio::use_awaitable_t<Executor>());
}

Task<EffectAnswer> bury_effect(Dispatcher* dispatcher, EffectOrder effect, std::string why) {
  const Dispatcher::Seat& seat = dispatcher->next_seat();
  co_return co_await boost::asio::co_spawn(seat.executor, bury_effect_at(dispatcher, &seat, &effect, &why),
                                           boost::asio::use_awaitable_t<Executor>());
}

}  // namespace semel::gateway
