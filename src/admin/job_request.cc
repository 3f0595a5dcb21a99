// What is asked for is read strictly: bulk work that is about more than somebody meant cannot be taken back.
#include "admin/job_request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "admin/desk_request.h"
#include "admin/inbox_request.h"
#include "admin/key_json.h"
#include "config/config.h"
#include "config/match.h"
#include "core/event_id.h"
#include "core/json/writer.h"
#include "inbox/destination.h"
#include "policy/request_view.h"
#include "reading/units.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "store/inbox_jobs.h"
#include "webhook/event.h"
#include "webhook/webhook.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::admin {
namespace {

using store::DeliveryState;
using store::JobAction;

constexpr std::array<std::string_view, 8> members{"source", "destination", "state",  "type",
                                                  "from",   "to",          "object", "why"};

// Bytes that this API shows as \u00xx, as they were.
std::string bytes_of(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const bool folds = (lead == 0xC2 || lead == 0xC3) && i + 1 < text.size();
    if (!folds) {
      bytes += text[i];
      continue;
    }
    bytes += static_cast<char>(((lead & 0x03U) << 6U) | (static_cast<unsigned char>(text[++i]) & 0x3FU));
  }
  return bytes;
}

std::unexpected<Error> wrong(std::string_view member, std::string_view what) {
  return fail(Code::invalid, "filter." + std::string(member) + ": " + std::string(what));
}

// What each action needs, and what would mean nothing to it.
Result<void> check_members(JobAction action, const boost::json::object& filter) {
  for (const auto& [name, value] : filter) {
    if (std::ranges::find(members, std::string_view(name)) == members.end()) return wrong(name, "is not known");
    if (!value.is_string() || value.get_string().empty()) return wrong(name, "must be a text that is not empty");
  }
  const auto need = [&](std::string_view name) { return filter.contains(name); };
  const bool whole = action == JobAction::backfill || action == JobAction::erase;
  for (const std::string_view name : {"state", "why"}) {
    if (whole && need(name)) return wrong(name, "this action is about whole events, not about one delivery of them");
  }
  if (!whole && !need("state")) return wrong("state", "say which state the deliveries are in");
  if (whole && !need("source")) return wrong("source", "say which webhook or route the events came to");
  if (action == JobAction::erase && !need("object")) return wrong("object", "say whose bodies are to go");
  if (action == JobAction::erase && need("destination")) return wrong("destination", "a body goes for all of them");
  if (action == JobAction::backfill && !need("destination")) return wrong("destination", "say where they are to go");
  if (need("object") && !need("source")) return wrong("source", "an object is known by the webhook that it came to");
  return {};
}

Result<void> check_state(JobAction action, DeliveryState state) {
  if (action == JobAction::replay && state == DeliveryState::running) {
    return wrong("state", "what is running cannot be sent again");
  }
  const bool ends = state == DeliveryState::waiting || state == DeliveryState::dead || state == DeliveryState::unknown;
  if (action == JobAction::discard && !ends) return wrong("state", "only waiting, dead or unknown ones are discarded");
  return {};
}

// The object by the rules of its webhook, whose own path takes the place of the one that the event came to.
Result<void> read_object(const config::Config& config, const std::string& object, store::DeliveryFilter& filter) {
  const std::string path = filter.source.value_or("");
  const config::Match matched = config::match(config, "POST", path);
  const auto* const call = std::get_if<config::WebhookCall>(&matched);
  if (call == nullptr) return wrong("source", "no webhook has this path");
  const webhook::Webhook& webhook = *call->webhook;
  const std::optional<Key> key = webhook::object_key(webhook.rules.event, webhook.space, path, object);
  if (!key) return wrong("object", "events of this webhook have none");
  ScopeDigest digest{};
  std::memcpy(digest.data(), key->id.data(), digest.size());
  filter.object = digest;
  filter.source = webhook.path.text;
  return {};
}

Result<void> read_times(const boost::json::object& given, store::DeliveryFilter& filter, Time now) {
  for (const std::string_view name : {"from", "to"}) {
    const std::optional<std::string> text = text_in(given, name);
    if (!text) continue;
    const std::optional<Time> at = moment_of(*text);
    if (!at) return wrong(name, "must be a time such as 2026-01-02T03:04:05Z");
    (name == "from" ? filter.from : filter.until) = at;
  }
  filter.until = filter.until ? std::min(*filter.until, now) : now;
  if (filter.from && *filter.from >= *filter.until) return wrong("from", "must be in the past, and before to");
  return {};
}

Result<void> read_filter(const config::Config& config, const boost::json::object& given, store::JobScope& scope,
                         Time now) {
  Result<void> sound = check_members(scope.action, given);
  if (!sound) return sound;
  store::DeliveryFilter& filter = scope.filter;
  filter.source = text_in(given, "source");
  filter.to = text_in(given, "destination");
  filter.type = text_in(given, "type");
  if (const auto why = text_in(given, "why")) scope.why = bytes_of(*why);
  if (const auto state = text_in(given, "state")) {
    filter.state = store::delivery_state(*state);
    if (!filter.state) return wrong("state", "there is no state " + *state);
    sound = check_state(scope.action, *filter.state);
    if (!sound) return sound;
  }
  const bool known = !filter.to || std::ranges::find(config.destinations, *filter.to, &inbox::Destination::name) !=
                                       config.destinations.end();
  const bool sends = scope.action == JobAction::replay || scope.action == JobAction::backfill;
  if (sends && !known) return wrong("destination", "the configuration has none of this name");
  if (const auto object = text_in(given, "object")) {
    sound = read_object(config, *object, filter);
    if (!sound) return sound;
  }
  return read_times(given, filter, now);
}

}  // namespace

Result<store::InboxJob> job_in(const config::Config& config, const boost::json::object& body, Time now) {
  store::InboxJob job;
  const std::optional<store::JobAction> action = store::job_action(text_in(body, "action").value_or(""));
  if (!action) return fail(Code::invalid, "action: must be replay, discard, backfill or erase");
  job.scope.action = *action;
  for (const auto& [name, value] : body) {
    const std::string_view known = name;
    if (known != "action" && known != "filter" && known != "rate") {
      return fail(Code::invalid, std::string(known) + ": a plan has no such member");
    }
  }
  const boost::json::value* const filter = body.if_contains("filter");
  if (filter == nullptr || !filter->is_object()) return fail(Code::invalid, "filter: must be an object");
  const Result<void> read = read_filter(config, filter->get_object(), job.scope, now);
  if (!read) return std::unexpected(read.error());
  if (!body.contains("rate")) return job;
  const auto rate = reading::parse_rate(text_in(body, "rate").value_or(""));
  if (!rate) return fail(Code::invalid, "rate: must be such as 50/s");
  job.rate = rate->count;
  job.rate_per = rate->per;
  return job;
}

std::optional<std::uint64_t> job_number_in(const policy::RequestView& request) {
  const std::optional<std::string> text = segment_in(request, "/v1/inbox/jobs/");
  if (!text) return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  const bool sound = error == std::errc() && end == text->data() + text->size() && number > 0;
  return sound ? std::optional(number) : std::nullopt;
}

void write_job_filter(core::json::JsonWriter& json, const store::JobScope& scope) {
  const store::DeliveryFilter& filter = scope.filter;
  json.begin_object();
  if (filter.source) json.bytes("source", *filter.source);
  if (filter.to) json.bytes("destination", *filter.to);
  if (filter.state) json.text("state", name(*filter.state));
  if (filter.type) json.bytes("type", *filter.type);
  if (filter.object) json.hex("object", *filter.object);  // not in its own words: those may be somebody's name
  if (scope.why) json.bytes("why", *scope.why);
  if (filter.from) json.text("from", time_text(*filter.from));
  if (filter.until) json.text("to", time_text(*filter.until));
  json.end_object();
}

void write_job(core::json::JsonWriter& json, const store::InboxJob& job) {
  json.begin_object().text("id", std::to_string(job.number)).text("action", name(job.scope.action));
  json.text("state", name(job.state));
  write_job_filter(json.name("filter"), job.scope);
  const reading::Rate rate{.count = job.rate, .per = job.rate_per};
  json.text("rate", job.rate > 0 ? reading::rate_text(rate) : std::string());
  json.number("count", job.count).boolean("at_least", job.at_least).number("taken", job.taken);
  json.number("done", job.done).number("dead", job.dead).number("other", job.other).number("open", open_of(job));
  json.bytes("reason", job.reason).bytes("who", job.who).text("planned_at", time_text(job.planned_at));
  if (job.started_at != Time{}) json.text("started_at", time_text(job.started_at));
  if (job.ended_at != Time{}) json.text("ended_at", time_text(job.ended_at));
  if (job.searched != core::EventId{}) json.text("searched_to", time_text(job.searched.accepted_at()));
  json.end_object();
}

}  // namespace semel::admin
