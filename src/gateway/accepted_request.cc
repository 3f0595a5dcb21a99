// What a client hears comes from the record of its key: the acknowledgement, and the answer that takes its place.
#include "gateway/accepted_request.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "config/config.h"
#include "core/ascii.h"
#include "core/event_id.h"
#include "core/json/writer.h"
#include "gateway/allowance.h"
#include "gateway/answer_waiters.h"
#include "gateway/dispatcher.h"
#include "gateway/incoming.h"
#include "gateway/job.h"
#include "gateway/parcel.h"
#include "gateway/passage.h"
#include "gateway/placement.h"
#include "gateway/services.h"
#include "gateway/tell.h"
#include "gateway/told.h"
#include "http/transaction.h"
#include "inbox/destination.h"
#include "inbox/event_view.h"
#include "policy/expression.h"
#include "policy/reply.h"
#include "policy/request_view.h"
#include "policy/route.h"
#include "runtime/failpoint.h"
#include "runtime/pause.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "store/lookup.h"
#include "telemetry/inbox_metrics.h"
#include "telemetry/metrics.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/problem.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::gateway {
namespace {

using telemetry::Ending;

constexpr std::string_view locations = "/.semel/deliveries/";
constexpr std::string_view event_field = "Semel-Event";
constexpr Millis full_retry_after{10'000};
constexpr Millis busy_retry_after{1'000};

std::string state_body(const core::EventId& id, std::string_view state, std::uint32_t attempt) {
  std::string body;
  core::json::JsonWriter json(body);
  json.begin_object().text("id", id.text()).text("state", state).number("attempt", attempt).end_object();
  return body;
}

Response state_response(const core::EventId& id, std::string_view state, std::uint32_t attempt) {
  Response response{.status = 202, .fields = {}, .body = state_body(id, state, attempt)};
  response.fields.push_back({.name = "Content-Type", .value = "application/json"});
  response.fields.push_back({.name = "Location", .value = std::string(locations) + id.text()});
  return response;
}

// What is stored for the key until there is an answer. Only ours has the field: it is taken from what an upstream says.
Response ticket_of(const core::EventId& id) {
  Response response = state_response(id, "accepted", 0);
  response.fields.push_back({.name = std::string(event_field), .value = id.text()});
  return response;
}

std::optional<core::EventId> id_in_ticket(const Response& response) {
  for (const Field& field : response.fields) {
    if (core::equal_ignoring_case(field.name, event_field)) return core::EventId::from_text(field.value);
  }
  return std::nullopt;
}

// Prefer: wait=5 (RFC 7240), as far as the route waits for anybody.
Millis patience_of(const policy::RequestView& request, const Policy& policy) {
  for (std::string_view line : policy::lines_of(request.fields, "Prefer")) {
    while (!line.empty()) {
      const std::size_t end = std::min(line.find(','), line.size());
      const std::string_view one = core::trimmed(line.substr(0, end));
      line.remove_prefix(std::min(end + 1, line.size()));
      constexpr std::string_view name = "wait=";
      if (one.size() <= name.size() || !core::equal_ignoring_case(one.substr(0, name.size()), name)) continue;
      std::uint32_t seconds = 0;
      const std::string_view digits = one.substr(name.size());
      const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
      const bool whole = error == std::errc{} && stop == digits.data() + digits.size();
      if (whole) return std::min(Millis{std::int64_t{seconds} * 1'000}, policy.wait_max);
    }
  }
  return Millis{0};
}

// A client that waits, from its registration to its end.
class Vigil {
 public:
  Vigil(const Incoming& incoming, const core::EventId& id, Millis patience)
      : incoming_(incoming), id_(id), patience_(patience) {
    if (patience <= Millis{0}) return;
    auto pause = std::make_shared<runtime::Pause>(incoming.services.clock);
    const std::size_t limit = incoming.config().limits.waiters;
    if (waiters().add(id, incoming.client.executor(), pause, limit)) pause_ = std::move(pause);
  }
  ~Vigil() {
    if (pause_ != nullptr) waiters().remove(id_, pause_);
  }
  Vigil(const Vigil&) = delete;
  Vigil& operator=(const Vigil&) = delete;

  Task<void> wait() {
    if (pause_ != nullptr) co_await pause_->wait(patience_);
  }

 private:
  [[nodiscard]] AnswerWaiters& waiters() const { return incoming_.services.dispatcher->waiters(); }

  const Incoming& incoming_;
  const core::EventId id_;
  const Millis patience_;
  std::shared_ptr<runtime::Pause> pause_;
};

Told told_unavailable(const Incoming& incoming, std::string detail) {
  incoming.services.dispatcher->metrics().refused.fetch_add(1, std::memory_order_relaxed);
  return told_refusal(Problem::of(ProblemType::store_unavailable), full_retry_after, incoming.config().reply, {},
                      std::move(detail));
}

Told told_own(Ending ending, Response response) {
  Told told{.ending = ending};
  told.reply = OwnReply{.response = std::move(response)};
  return told;
}

// What is stored for a key that is done: a ticket or an answer.
Task<Result<Record>> stored_under(const Incoming* incoming, Key key) {
  if (incoming->services.lookup == nullptr) co_return fail(Code::unavailable, "this store cannot look at keys");
  Result<std::optional<Held>> found = co_await incoming->services.lookup->look_up(std::move(key));
  if (!found) co_return std::unexpected(std::move(found.error()));
  std::optional<Held>& held = *found;
  const bool done = held && held->record.state == Record::State::done && held->record.response != nullptr;
  if (!done) co_return fail(Code::unavailable, "the key has changed meanwhile");
  co_return std::move(held->record);
}

// A client that waited for the first answer to its own request gets it as it is; everybody else, marked.
Told told_record(const Incoming& incoming, const Record& record, bool first) {
  const bool ticket = id_in_ticket(*record.response).has_value();
  if (first && ticket) return told_own(Ending::accepted, *record.response);
  Told told = told_replay(incoming, record.response, record.fence, record.expires_at);
  auto* const own = std::get_if<OwnReply>(&told.reply);
  if (!first || own == nullptr || told.ending != Ending::replayed) return told;
  const std::string& marker = incoming.config().reply.replayed_header;
  std::erase_if(own->response.fields,
                [&](const Field& field) { return core::equal_ignoring_case(field.name, marker); });
  told.ending = Ending::ran;
  return told;
}

Task<Told> told_again(const Incoming* incoming, const Job* job, const Record* known, Millis patience) {
  const policy::ReplyConfig& reply = incoming->config().reply;
  if (known->fingerprint != job->identity.fingerprint) {
    co_return told_refusal(Problem::of(ProblemType::key_reused), Millis{0}, reply);
  }
  if (known->state == Record::State::running) {
    co_return told_refusal(Problem::of(ProblemType::in_flight), busy_retry_after, reply);
  }
  if (known->state != Record::State::done) {
    co_return told_refusal(Problem::of(ProblemType::outcome_unknown), busy_retry_after, reply);
  }
  Result<Record> record = co_await stored_under(incoming, job->identity.key);
  const std::optional<core::EventId> id = record ? id_in_ticket(*record->response) : std::nullopt;
  if (id && patience > Millis{0}) {
    Vigil vigil(*incoming, *id, patience);
    record = co_await stored_under(incoming, job->identity.key);
    if (record && id_in_ticket(*record->response)) {
      co_await vigil.wait();
      record = co_await stored_under(incoming, job->identity.key);
    }
  }
  if (!record) co_return told_unavailable(*incoming, record.error().detail);
  co_return told_record(*incoming, *record, false);
}

bool same_scope(const policy::Route& route, const policy::RequestView& request, const Key& key) {
  const auto scope = policy::evaluate(route.scope, request);
  if (!scope) return false;
  const Result<Key> own = make_key(route.space, *scope, "-");
  return own && own->scope == key.scope;
}

Told told_absent(const Incoming& incoming) {
  return told_refusal(Problem::of(ProblemType::no_route), Millis{0}, incoming.config().reply,
                      "There is no such request, or it is not kept any more.");
}

// One that will not be answered.
Told told_ended(const Incoming& incoming, const store::DeliveryRecord& delivery) {
  if (delivery.state == store::DeliveryState::unknown) {
    return told_refusal(Problem::of(ProblemType::outcome_unknown), Millis{0}, incoming.config().reply);
  }
  return told_plainly(Ending::refused, 502,
                      "The request was accepted, but it is " + std::string(name(delivery.state)) + ".");
}

// What to ask if an answer is lost. Made now, while there is the key as the client wrote it.
std::string probe_of(const policy::Route& route, const Job& job) {
  if (!route.probe || route.target.policy.on_unknown != Policy::OnUnknown::probe) return {};
  return policy::render_target(*route.probe, job.request, job.identity.key_text).value_or("");
}

}  // namespace

const inbox::InboxRules* intake_of(const Incoming& incoming, const policy::Route& route) {
  const config::Config& config = incoming.config();
  const auto at = static_cast<std::size_t>(&route - config.routes.data());
  if (at >= config.route_intakes.size() || incoming.services.dispatcher == nullptr) return nullptr;
  const std::optional<inbox::InboxRules>& intake = config.route_intakes[at];
  return intake ? &*intake : nullptr;
}

Task<Told> take_request(const Incoming* incoming, const policy::Route* route, const inbox::InboxRules* intake,
                        const Job* job) {
  Allowance allowance(*incoming, *job);
  if (const auto over = allowance.refusal()) {
    co_return told_refusal(Problem::of(over->problem), over->retry_after, incoming->config().reply);
  }
  const Millis patience = patience_of(job->request, job->target->policy);
  const inbox::EventView event{.request = job->request, .type = {}, .object = {}};
  const Packing packing{.credentials = intake->credentials,
                        .sender = Sender{.key = job->identity.key, .route = route->path.text},
                        .probe = probe_of(*route, *job)};
  const std::shared_ptr<const store::Parcel> parcel = pack(event, hop_of(*incoming), packing);
  const std::vector<store::AcceptOrder::To> to = destinations_of(*incoming, *intake, event, Start::at_once);
  store::AcceptOrder order{.key = job->identity.key,
                           .fingerprint = job->identity.fingerprint,
                           .ttl = job->target->policy.ttl,
                           .owner = incoming->services.companies.next(),
                           .source = route->path.text,
                           .type = {},
                           .line = {},
                           .to = to,
                           .parcel = parcel,
                           .depth_max = intake->depth_max,
                           .bytes_max = incoming->config().inbox.bytes_max,
                           .retain_ended = incoming->config().inbox.retain_done};
  store::AcceptReply reply = [](const core::EventId& id, const Key&, const Fence&) {
    return std::make_shared<const Response>(ticket_of(id));
  };
  const Result<store::Acceptance> accepted =
      co_await incoming->services.dispatcher->inbox().accept(std::move(order), std::move(reply));
  const store::AcceptedEvent* const taken = accepted ? std::get_if<store::AcceptedEvent>(&*accepted) : nullptr;
  runtime::failpoint("event-kept");
  if (taken == nullptr) {
    follow_up(*incoming, to, nullptr, parcel);
    if (!accepted) co_return told_unavailable(*incoming, accepted.error().detail);
    if (const auto* full = std::get_if<store::InboxFull>(&*accepted)) co_return told_unavailable(*incoming, full->what);
    co_return co_await told_again(incoming, job, &std::get<store::KnownEvent>(*accepted).held.record, patience);
  }
  static_cast<void>(allowance.admit());  // it counts for its scope from now on
  Vigil vigil(*incoming, taken->id, patience);
  follow_up(*incoming, to, taken, parcel);
  if (patience <= Millis{0}) co_return told_own(Ending::accepted, ticket_of(taken->id));
  co_await vigil.wait();
  const Result<Record> record = co_await stored_under(incoming, job->identity.key);
  if (!record) co_return told_own(Ending::accepted, ticket_of(taken->id));
  co_return told_record(*incoming, *record, true);
}

bool asks_for_accepted(const Incoming& incoming) {
  const policy::RequestView& request = incoming.request;
  if (!request.path.starts_with(locations) || (request.method != "GET" && request.method != "HEAD")) return false;
  const auto accepts = [](const std::optional<inbox::InboxRules>& intake) { return intake.has_value(); };
  return incoming.services.dispatcher != nullptr && std::ranges::any_of(incoming.config().route_intakes, accepts);
}

Task<Told> show_accepted(const Incoming* incoming) {
  Dispatcher& dispatcher = *incoming->services.dispatcher;
  const std::optional<core::EventId> id = core::EventId::from_text(incoming->request.path.substr(locations.size()));
  if (!id) co_return told_absent(*incoming);
  const Result<std::optional<store::Parcel>> loaded = co_await dispatcher.inbox().load(*id);
  if (!loaded) co_return told_unavailable(*incoming, loaded.error().detail);
  const std::optional<store::Parcel>& parcel = *loaded;
  const std::unique_ptr<const Unpacked> unpacked = parcel ? unpack(*parcel) : nullptr;
  if (unpacked == nullptr) co_return told_absent(*incoming);
  const std::optional<Sender>& sent_by = unpacked->sender;
  if (!sent_by) co_return told_absent(*incoming);
  const Sender& sender = *sent_by;
  const std::vector<policy::Route>& routes = incoming->config().routes;
  const auto same = [&](const policy::Route& each) { return each.path.text == sender.route; };
  const auto route = std::ranges::find_if(routes, same);
  if (route == routes.end() || !same_scope(*route, incoming->request, sender.key)) co_return told_absent(*incoming);
  Vigil vigil(*incoming, *id, patience_of(incoming->request, route->target.policy));
  for (bool waited = false;; waited = true) {
    const Result<std::optional<store::AcceptedEvent>> found = co_await dispatcher.desk().find(*id);
    if (!found) co_return told_unavailable(*incoming, found.error().detail);
    const std::optional<store::AcceptedEvent>& event = *found;
    if (!event || event->deliveries.empty()) co_return told_absent(*incoming);
    const store::DeliveryRecord& delivery = event->deliveries.front();
    if (delivery.state == store::DeliveryState::done) {
      const Result<Record> record = co_await stored_under(incoming, sender.key);
      if (!record || id_in_ticket(*record->response)) co_return told_absent(*incoming);
      co_return told_record(*incoming, *record, false);
    }
    if (store::has_ended(delivery.state) || delivery.state == store::DeliveryState::unknown) {
      co_return told_ended(*incoming, delivery);
    }
    if (waited) {
      Response response = state_response(*id, name(delivery.state), delivery.attempt);
      response.fields.push_back({.name = "Retry-After", .value = "1"});
      co_return told_own(Ending::passed, std::move(response));
    }
    co_await vigil.wait();
  }
}

}  // namespace semel::gateway
