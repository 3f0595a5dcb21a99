// The inbox for operators: lists, one event, and what it came with.
#include "store/inbox.h"

#include <charconv>
#include <chrono>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "admin/answers.h"
#include "admin/attempts.h"
#include "admin/caller.h"
#include "admin/desk_request.h"
#include "admin/handlers.h"
#include "admin/inbox_request.h"
#include "admin/key_json.h"
#include "admin/sources.h"
#include "core/event_id.h"
#include "core/json/writer.h"
#include "core/rfc3339.h"
#include "gateway/dispatcher.h"
#include "policy/form.h"
#include "policy/request_view.h"
#include "store/inbox_desk.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/response.h>
#include <semel/result.h>

namespace semel::admin {
namespace {

constexpr std::size_t items_max = 1'000;

// Code::invalid: the parameter is there and is no time.
Result<std::optional<Time>> moment_in(const policy::RequestView& request, std::string_view name) {
  const std::optional<std::string> text = parameter(request, name);
  if (!text) return std::nullopt;
  const std::optional<Time> at = moment_of(*text);
  if (!at) return fail(Code::invalid, std::string(name) + ": must be a time such as 2026-01-02T03:04:05Z");
  return at;
}

}  // namespace

std::optional<Time> moment_of(std::string_view text) {
  const std::optional<core::ExactTime> at = core::parse_rfc3339(text);
  if (!at) return std::nullopt;
  std::string millis(at->fraction.substr(0, 3));
  millis.resize(3, '0');
  Millis::rep part = 0;
  std::from_chars(millis.data(), millis.data() + millis.size(), part);
  return Time{std::chrono::seconds(at->seconds)} + Millis{part};
}

Result<store::DeliveryFilter> deliveries_in(const policy::RequestView& request) {
  store::DeliveryFilter filter;
  if (const auto state = parameter(request, "state")) {
    filter.state = store::delivery_state(*state);
    if (!filter.state) return fail(Code::invalid, "state: there is no state " + *state);
  }
  filter.source = parameter(request, "source");
  filter.to = parameter(request, "dest");
  filter.type = parameter(request, "type");
  const Result<std::optional<Time>> from = moment_in(request, "from");
  if (!from) return std::unexpected(from.error());
  filter.from = *from;
  const Result<std::optional<Time>> until = moment_in(request, "to");
  if (!until) return std::unexpected(until.error());
  filter.until = *until;
  if (const auto limit = parameter(request, "limit")) {
    const auto [end, error] = std::from_chars(limit->data(), limit->data() + limit->size(), filter.items_max);
    const bool sound = error == std::errc() && end == limit->data() + limit->size();
    if (!sound || filter.items_max == 0 || filter.items_max > items_max) {
      return fail(Code::invalid, "limit: must be 1 to 1000");
    }
  }
  return filter;
}

std::optional<std::string> segment_in(const policy::RequestView& request, std::string_view above) {
  if (!request.path.starts_with(above)) return std::nullopt;
  std::string_view text = request.path.substr(above.size());
  text = text.substr(0, text.find('/'));
  std::string plain(text);
  for (std::size_t at = plain.find('+'); at != std::string::npos; at = plain.find('+', at + 3)) {
    plain.replace(at, 1, "%2B");  // a plus in a path is a plus
  }
  return policy::form_decoded(plain);
}

std::optional<core::EventId> event_in(const policy::RequestView& request) {
  const std::optional<std::string> text = segment_in(request, "/v1/inbox/");
  return text ? core::EventId::from_text(*text) : std::nullopt;
}

void write_delivery(core::json::JsonWriter& json, const store::AcceptedEvent& event,
                    const store::DeliveryRecord& delivery) {
  json.begin_object().text("id", event.id.text()).bytes("source", event.source).bytes("destination", delivery.to);
  json.bytes("type", event.type).text("state", name(delivery.state)).number("attempt", delivery.attempt);
  json.number("failed", delivery.tries).number("status", delivery.status).bytes("why", delivery.why);
  json.text("accepted_at", time_text(event.id.accepted_at())).text("changed_at", time_text(delivery.changed));
  const bool timed = delivery.state == store::DeliveryState::waiting && !delivery.in_line;
  if (timed) json.text("due_at", time_text(delivery.due));
  json.boolean("in_line", delivery.in_line).text("expires_at", time_text(event.expires_at));
  if (delivery.job != 0) json.text("job", std::to_string(delivery.job));
  json.boolean("body_kept", event.bytes > 0).end_object();
}

Task<Response> list_inbox(const Sources* sources, policy::RequestView request, Caller /*caller*/) {
  Result<store::DeliveryFilter> filter = deliveries_in(request);
  if (!filter) co_return error_answer(400, filter.error().detail);
  std::string cursor = parameter(request, "cursor").value_or("");
  store::DeliveryList none;  // what there is without an inbox
  none.searched_to = sources->now();
  Result<store::DeliveryList> list = std::move(none);
  if (sources->dispatcher != nullptr) {
    list = co_await sources->dispatcher->desk().list(*std::move(filter), std::move(cursor));
  }
  if (!list) co_return error_answer(list.error().code == Code::invalid ? 400 : 503, list.error().detail);
  std::string body;
  core::json::JsonWriter json(body);
  json.begin_object().name("items").begin_array();
  for (const store::TakenDelivery& each : list->items) write_delivery(json, each.event, each.event.deliveries[each.at]);
  json.end_array().text("cursor", list->cursor).text("searched_to", time_text(list->searched_to));
  json.boolean("complete", list->cursor.empty()).end_object();
  co_return json_answer(200, std::move(body));
}

Task<Response> show_event(const Sources* sources, policy::RequestView request, Caller /*caller*/) {
  if (sources->dispatcher == nullptr) co_return error_answer(501, "this store has no inbox");
  const std::optional<core::EventId> id = event_in(request);
  if (!id) co_return error_answer(400, "id: must be the id of an event, 32 hexadecimal digits");
  const Result<std::optional<store::AcceptedEvent>> found = co_await sources->dispatcher->desk().find(*id);
  if (!found) co_return error_answer(503, found.error().detail);
  const std::optional<store::AcceptedEvent>& event = *found;
  if (!event) co_return error_answer(404, "there is no event with this id; those that have expired are gone");
  std::string body;
  core::json::JsonWriter json(body);
  json.begin_object().text("id", event->id.text()).bytes("source", event->source).bytes("type", event->type);
  json.text("accepted_at", time_text(event->id.accepted_at())).boolean("body_kept", event->bytes > 0);
  json.hex("key", event->key).name("deliveries").begin_array();
  for (const store::DeliveryRecord& delivery : event->deliveries) write_delivery(json, *event, delivery);
  json.end_array();
  co_await write_attempts(sources, &*event, &json);
  json.end_object();
  co_return json_answer(200, std::move(body));
}

}  // namespace semel::admin
