// What an operator does to an event: send it again, discard it, say that it took effect, drop or read its body; and
// what is done to a destination. Each act is in the audit log before it is done, and what came of it behind that.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

#include "admin/answers.h"
#include "admin/caller.h"
#include "admin/desk_request.h"
#include "admin/handlers.h"
#include "admin/inbox_request.h"
#include "admin/key_json.h"
#include "admin/redact.h"
#include "admin/sources.h"
#include "config/config.h"
#include "core/ascii.h"
#include "core/event_id.h"
#include "core/json/writer.h"
#include "core/utf8.h"
#include "gateway/destination_gate.h"
#include "gateway/dispatcher.h"
#include "inbox/breaker.h"
#include "policy/request_view.h"
#include "reading/units.h"
#include "store/audit_log.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/response.h>
#include <semel/result.h>

namespace semel::admin {
namespace {

constexpr std::size_t reason_bytes_max = 1'000;

// Whether nobody would see anything of `text`: white space and characters without width.
bool is_blank(std::string_view text) {
  constexpr std::array<std::string_view, 8> blanks{"\u0085", "\u00a0", "\u1680", "\u180e",
                                                   "\u205f", "\u2060", "\u3000", "\ufeff"};
  while (!text.empty()) {
    const std::size_t size = std::max<std::size_t>(core::utf8_character_size(text), 1);
    const std::string_view character = text.substr(0, size);
    const bool general =
        character >= "\u2000" && character <= "\u202f" && (character < "\u2010" || character > "\u2027");
    const bool ascii = size == 1 && (character.front() == ' ' || core::is_control(character.front()));
    if (!ascii && !general && std::ranges::find(blanks, character) == blanks.end()) return false;
    text.remove_prefix(size);
  }
  return true;
}

struct InboxEntry {
  const Caller& caller;
  std::string_view act;
  std::string_view id;  // of the event; empty if it is about a destination
  std::string_view destination;
  std::string_view reason;
};

std::string entry_text(const InboxEntry& entry, Time at) {
  std::string text;
  core::json::JsonWriter json(text);
  json.begin_object().text("at", time_text(at)).bytes("act", entry.act).bytes("event", entry.id);
  json.bytes("destination", entry.destination).text("role", name_of(entry.caller.role));
  json.bytes("who", entry.caller.name).bytes("from", entry.caller.from).bytes("reason", entry.reason).end_object();
  return text;
}

std::string outcome_text(std::uint64_t of, std::string_view outcome, Time at) {
  std::string text;
  core::json::JsonWriter json(text);
  json.begin_object().text("at", time_text(at)).number("of", of).bytes("outcome", outcome).end_object();
  return text;
}

std::string_view act_of(store::DeliveryChange::What what) {
  if (what == store::DeliveryChange::What::redeliver) return "redeliver event";
  return what == store::DeliveryChange::What::discard ? "discard event" : "resolve event as done";
}

Response refused(const Error& error) {
  if (error.code == Code::fenced) return error_answer(409, error.detail);
  if (error.code == Code::invalid) return error_answer(404, error.detail);
  return error_answer(503, "it is not known whether this was done: " + error.detail);
}

// The destination that is meant: the one in the body, or the only one.
Task<Result<std::string>> destination_of(const Sources* sources, core::EventId id, const boost::json::object* body) {
  if (auto given = text_in(*body, "destination")) co_return *std::move(given);
  const Result<std::optional<store::AcceptedEvent>> found = co_await sources->dispatcher->desk().find(id);
  if (!found) co_return std::unexpected(found.error());
  const std::optional<store::AcceptedEvent>& event = *found;
  if (!event) co_return fail(Code::invalid, "there is no event with this id; those that have expired are gone");
  if (event->deliveries.size() == 1) co_return event->deliveries.front().to;
  co_return fail(Code::invalid, "destination: the event has several; say which");
}

Task<Response> change_event(const Sources* sources, policy::RequestView request, Caller caller,
                            store::DeliveryChange::What what) {
  if (sources->dispatcher == nullptr || sources->audit == nullptr)
    co_return error_answer(501, "this store has no inbox");
  const std::optional<core::EventId> id = event_in(request);
  if (!id) co_return error_answer(400, "id: must be the id of an event, 32 hexadecimal digits");
  const std::optional<boost::json::object> body = object_in(request);
  if (!body) co_return error_answer(400, "the body must be a JSON object");
  Result<std::string> reason = reason_in(*body);
  if (!reason) co_return error_answer(400, reason.error().detail);
  Result<std::string> to = co_await destination_of(sources, *id, &*body);
  if (!to) co_return error_answer(to.error().code == Code::invalid ? 404 : 503, to.error().detail);
  store::DeliveryChange change;
  change.id = *id;
  change.to = *to;
  change.what = what;
  change.reason = *reason;
  change.retain_ended = sources->config()->inbox.retain_dead;
  const std::string id_text = id->text();
  const InboxEntry entry{
      .caller = caller, .act = act_of(what), .id = id_text, .destination = change.to, .reason = *reason};
  std::string text = entry_text(entry, sources->now());
  const Result<store::AuditEntry> logged = co_await sources->audit->append(std::move(text));
  if (!logged) {
    co_return error_answer(503, "nothing was done, because the audit log cannot be written: " + logged.error().detail);
  }
  const Result<store::AcceptedEvent> changed = co_await sources->dispatcher->desk().change(std::move(change));
  std::string outcome = changed ? "applied" : "not applied: " + changed.error().detail;
  std::string second = outcome_text(logged->number, outcome, sources->now());
  static_cast<void>(co_await sources->audit->append(std::move(second)));  // what was done can be seen at the event
  if (!changed) co_return refused(changed.error());
  std::string answer;
  core::json::JsonWriter json(answer);
  json.begin_object().number("audit", logged->number);
  for (const store::DeliveryRecord& delivery : changed->deliveries) {
    if (delivery.to != *to) continue;
    // It is due at once; `due` is of the store's time.
    if (delivery.state == store::DeliveryState::waiting) {
      sources->dispatcher->expect(delivery.to, sources->dispatcher->clock().now());
    }
    write_delivery(json.name("delivery"), *changed, delivery);
  }
  json.end_object();
  co_return json_answer(200, std::move(answer));
}

std::string_view breaker_name(inbox::Breaker::State state) {
  if (state == inbox::Breaker::State::closed) return "closed";
  return state == inbox::Breaker::State::open ? "open" : "probing";
}

void write_destination(core::json::JsonWriter& json, const gateway::GateView& view,
                       const std::vector<store::DeliveryTally>& tallies) {
  json.begin_object().bytes("name", view.name).number("running", view.running).number("concurrency", view.concurrency);
  json.text("rate", view.rate ? reading::rate_text(*view.rate) : std::string());
  json.boolean("paused", view.paused).bytes("reason", view.paused_for);
  if (view.paused_until) json.text("paused_until", time_text(*view.paused_until));
  json.text("breaker", breaker_name(view.breaker));
  if (view.breaker != inbox::Breaker::State::closed) json.text("probe_at", time_text(view.probe_at));
  std::uint64_t accepted = 0;
  std::int64_t unaccounted = 0;
  store::DeliveryTally all;
  for (const store::DeliveryTally& tally : tallies) {
    if (tally.to != view.name) continue;
    accepted += tally.accepted;
    unaccounted += tally.unaccounted();
    if (tally.oldest) all.oldest = std::min(*tally.oldest, all.oldest.value_or(*tally.oldest));
    for (std::size_t i = 0; i < all.by_state.size(); ++i) all.by_state.at(i) += tally.by_state.at(i);
  }
  json.number("accepted", accepted).number("unaccounted", unaccounted);
  if (all.oldest) json.text("oldest", time_text(*all.oldest));
  json.name("states").begin_object();
  for (std::size_t i = 1; i < store::delivery_states; ++i) {
    json.escaped_name(name(static_cast<store::DeliveryState>(i))).number(all.by_state.at(i));
  }
  json.end_object().end_object();
}

Task<Response> control_destination(const Sources* sources, policy::RequestView request, Caller caller,
                                   store::DestinationControl control, std::string_view act) {
  const std::string id;
  const InboxEntry entry{.caller = caller, .act = act, .id = id, .destination = control.to, .reason = control.reason};
  std::string text = entry_text(entry, sources->now());
  const Result<store::AuditEntry> logged = co_await sources->audit->append(std::move(text));
  if (!logged) {
    co_return error_answer(503, "nothing was done, because the audit log cannot be written: " + logged.error().detail);
  }
  const Result<void> done = co_await sources->dispatcher->desk().control(control);
  std::string second = outcome_text(logged->number, done ? "applied" : "not known", sources->now());
  static_cast<void>(co_await sources->audit->append(std::move(second)));
  if (!done) co_return error_answer(503, "it is not known whether this was done: " + done.error().detail);
  if (control.paused) {
    sources->dispatcher->pause(control.to, control.until, control.reason);
  } else {
    sources->dispatcher->resume(control.to);
  }
  co_return co_await list_destinations(sources, request, std::move(caller));
}

// The destination in the path, and what the body says of it.
Result<store::DestinationControl> control_in(const Sources& sources, const policy::RequestView& request) {
  const std::optional<std::string> to = segment_in(request, "/v1/destinations/");
  if (!to || sources.dispatcher->gates().find(*to) == nullptr)
    return fail(Code::invalid, "there is no such destination");
  const std::optional<boost::json::object> body = object_in(request);
  if (!body) return fail(Code::invalid, "the body must be a JSON object");
  Result<std::string> reason = reason_in(*body);
  if (!reason) return std::unexpected(std::move(reason.error()));
  store::DestinationControl control{.to = *to, .paused = false, .until = std::nullopt, .reason = *std::move(reason)};
  if (const auto span = text_in(*body, "for")) {
    const auto length = reading::parse_duration(*span);
    if (!length) return fail(Code::invalid, "for: must be a duration such as 10m");
    control.until = sources.dispatcher->clock().now() + *length;
  }
  return control;
}

}  // namespace

Result<std::string> reason_in(const boost::json::object& body) {
  std::string reason = text_in(body, "reason").value_or("");
  if (is_blank(reason) || reason.size() > reason_bytes_max) {
    return fail(Code::invalid, "reason: must be 1 to 1000 bytes that say why, and not only blanks");
  }
  return reason;
}

Task<Response> redeliver_event(const Sources* sources, policy::RequestView request, Caller caller) {
  return change_event(sources, request, std::move(caller), store::DeliveryChange::What::redeliver);
}

Task<Response> discard_event(const Sources* sources, policy::RequestView request, Caller caller) {
  return change_event(sources, request, std::move(caller), store::DeliveryChange::What::discard);
}

Task<Response> resolve_event(const Sources* sources, policy::RequestView request, Caller caller) {
  return change_event(sources, request, std::move(caller), store::DeliveryChange::What::confirm);
}

// What an event came with is the customer's, so reading it is an act, too.
Task<Response> show_event_body(const Sources* sources, policy::RequestView request, Caller caller) {
  if (sources->dispatcher == nullptr || sources->audit == nullptr)
    co_return error_answer(501, "this store has no inbox");
  const std::optional<core::EventId> id = event_in(request);
  if (!id) co_return error_answer(400, "id: must be the id of an event, 32 hexadecimal digits");
  const Result<std::optional<store::Parcel>> found = co_await sources->dispatcher->inbox().load(*id);
  if (!found) co_return error_answer(503, found.error().detail);
  const std::optional<store::Parcel>& parcel = *found;
  if (!parcel) co_return error_answer(404, "there is no such event, or its body is not kept any more");
  const std::string id_text = id->text();
  const InboxEntry entry{.caller = caller, .act = "read event", .id = id_text, .destination = {}, .reason = {}};
  std::string text = entry_text(entry, sources->now());
  const Result<store::AuditEntry> logged = co_await sources->audit->append(std::move(text));
  if (!logged)
    co_return error_answer(503, "not shown, because the audit log cannot be written: " + logged.error().detail);
  std::string body;
  core::json::JsonWriter json(body);
  json.begin_object();
  write_shown(json, *parcel, sources->config()->admin.redact);
  json.end_object();
  co_return json_answer(200, std::move(body));
}

Task<Response> list_destinations(const Sources* sources, policy::RequestView /*request*/, Caller /*caller*/) {
  std::string body;
  core::json::JsonWriter json(body);
  json.begin_object().name("items").begin_array();
  if (sources->dispatcher != nullptr) {  // without an inbox there is none
    const Result<std::vector<store::DeliveryTally>> tallies = co_await sources->dispatcher->desk().status();
    if (!tallies) co_return error_answer(503, tallies.error().detail);
    for (const auto& gate : sources->dispatcher->gates().current()) write_destination(json, gate->view(), *tallies);
  }
  json.end_array().text("cursor", "").text("searched_to", time_text(sources->now())).boolean("complete", true);
  json.end_object();
  co_return json_answer(200, std::move(body));
}

Task<Response> pause_destination(const Sources* sources, policy::RequestView request, Caller caller) {
  if (sources->dispatcher == nullptr || sources->audit == nullptr)
    co_return error_answer(501, "this store has no inbox");
  Result<store::DestinationControl> control = control_in(*sources, request);
  if (!control) co_return error_answer(400, control.error().detail);
  control->paused = true;
  co_return co_await control_destination(sources, request, std::move(caller), *std::move(control), "pause destination");
}

Task<Response> resume_destination(const Sources* sources, policy::RequestView request, Caller caller) {
  if (sources->dispatcher == nullptr || sources->audit == nullptr)
    co_return error_answer(501, "this store has no inbox");
  Result<store::DestinationControl> control = control_in(*sources, request);
  if (!control) co_return error_answer(400, control.error().detail);
  control->until.reset();
  co_return co_await control_destination(sources, request, std::move(caller), *std::move(control),
                                         "resume destination");
}

}  // namespace semel::admin
