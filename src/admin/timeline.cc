// GET /v1/keys/{id}/timeline: the life of a key. Claimed, attempted, how that ended, what operators did, and every
// repeat: when, from where, and what it heard.
//
// It is put together from the record, which is exact, and from the history, which may lack the last second and what was
// dropped; then it says that it is partial. A key that has expired still has its history, if the whole id is given.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>

#include "admin/answers.h"
#include "admin/caller.h"
#include "admin/desk_request.h"
#include "admin/handlers.h"
#include "admin/key_json.h"
#include "admin/sources.h"
#include "core/encoding.h"
#include "core/json/writer.h"
#include "core/shape.h"
#include "policy/request_view.h"
#include "store/desk.h"
#include "store/history.h"
#include "telemetry/sighting_rows.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::admin {
namespace {

namespace json = boost::json;

constexpr std::size_t rows_max = 1'000;  // of each kind
constexpr std::size_t alike_max = 2;
constexpr std::chrono::days kept{30};
constexpr Millis clocks_differ{60'000};  // at most: the store's and those of the gateways
constexpr Millis out_of_step{2'000};     // clocks that are kept by NTP, and are being corrected

// Something that happened. Those of one time stand in the order in which they were added.
struct Event {
  Time at;
  json::object members;
  Time shown{};  // when, as far as the order goes
  std::size_t place = 0;
};

std::uint64_t number_in(const json::object& object, std::string_view member) {
  const json::value* const value = object.if_contains(member);
  if (value == nullptr || !value->is_number()) return 0;
  boost::system::error_code error;
  const auto number = value->to_number<std::uint64_t>(error);
  return error ? 0 : number;
}

// Takes the shape out of what was stored: it serves to tell what differs, and tells nothing to people.
core::Shape take_shape(json::object& object) {
  const std::string text = text_in(object, "shape").value_or("");
  object.erase("shape");
  core::Shape shape;
  std::from_chars(text.data(), text.data() + text.size(), shape.bits, 16);
  return shape;
}

class Timeline {
 public:
  void add(const store::HistoryRow& row);
  void add_present(const Held& held);
  [[nodiscard]] std::vector<Event> in_order() &&;

 private:
  void add_attempt(Time at, json::object members);
  void add_repeats(Time at, json::object members);
  void add_event(Time at, std::string_view event, std::uint64_t fence);

  std::vector<Event> events_;
  using Fenced = std::pair<std::uint64_t, Time>;
  std::vector<Fenced> claims_;    // that are known, by their fences
  std::vector<Fenced> outcomes_;  // the same
  core::Shape shape_;             // of the request that the key belongs to
};

void Timeline::add(const store::HistoryRow& row) {
  boost::system::error_code error;
  json::value value = json::parse(row.value, error);
  if (error || !value.is_object()) return;
  json::object& members = value.get_object();
  const std::string event = text_in(members, "event").value_or("");
  if (event == "attempt") {
    add_attempt(row.at, std::move(members));
  } else if (event == "repeats") {
    add_repeats(row.at, std::move(members));
  } else {
    const Fenced fenced(number_in(members, "fence"), row.at);
    if (event == "claimed") claims_.push_back(fenced);
    if (event == "outcome") outcomes_.push_back(fenced);
    events_.push_back({.at = row.at, .members = std::move(members)});
  }
}

void Timeline::add_event(Time at, std::string_view event, std::uint64_t fence) {
  events_.push_back({.at = at, .members = {{"event", event}, {"fence", fence}}});
}

void Timeline::add_attempt(Time at, json::object members) {
  const std::uint64_t fence = number_in(members, "fence");
  const json::value* const took = members.if_contains("ms");
  const double ms = took != nullptr && took->is_number() ? took->to_number<double>() : 0;
  if (const core::Shape shape = take_shape(members); shape.bits != 0) shape_ = shape;
  claims_.emplace_back(fence, at);
  outcomes_.emplace_back(fence, at);
  add_event(at, "claimed", fence);
  json::object ended{{"event", "outcome"}, {"fence", fence}, {"outcome", members["outcome"]}};
  if (const json::value* const cause = members.if_contains("cause")) ended["cause"] = *cause;
  members.erase("outcome");
  events_.push_back({.at = at, .members = std::move(members)});
  events_.push_back({.at = at + Millis{static_cast<std::int64_t>(ms)}, .members = std::move(ended)});
}

void Timeline::add_repeats(Time at, json::object members) {
  const Time until{Millis{static_cast<std::int64_t>(number_in(members, "until"))}};
  members["until"] = time_text(until);
  if (json::value* const callers = members.if_contains("callers"); callers != nullptr && callers->is_array()) {
    for (json::value& caller : callers->get_array()) {
      if (!caller.is_object()) continue;
      const std::string_view differs = core::differing(shape_, take_shape(caller.get_object()));
      if (!differs.empty()) caller.get_object()["differs"] = differs;
    }
  }
  events_.push_back({.at = at, .members = std::move(members)});
}

// What the record knows, where the history does not: a claim whose holder has not said anything.
void Timeline::add_present(const Held& held) {
  const Record& record = held.record;
  const auto known = [&](const Fenced& event) {
    return event.first == record.fence.number && event.second + clocks_differ >= record.claimed_at;
  };
  if (!std::ranges::any_of(claims_, known)) add_event(record.claimed_at, "claimed", record.fence.number);
  if (record.state != Record::State::unknown || std::ranges::any_of(outcomes_, known)) return;
  events_.push_back(
      {.at = record.lease_until,
       .members = {
           {"event", "outcome"}, {"fence", record.fence.number}, {"outcome", "unknown"}, {"cause", "no word"}}});
}

// By time. But a fence is taken only when the one before it is over, and fences do not go by a clock: if clocks are a
// little out of step, or one is being set back, the fences tell which was first.
std::vector<Event> Timeline::in_order() && {
  const auto fence_of = [](const Event& event) { return number_in(event.members, "fence"); };
  for (std::size_t i = 0; i < events_.size(); ++i) events_[i].place = i;
  std::ranges::sort(events_, {}, [&](const Event& event) { return std::pair(fence_of(event), event.place); });
  std::uint64_t fence = 0;
  Time before{};  // the last that happened under the fence before this one
  Time latest{};  // under this one
  for (Event& event : events_) {
    if (fence_of(event) != fence) {
      before = fence == 0 ? Time{} : latest;
      fence = fence_of(event);
      latest = Time{};
    }
    event.shown = before - event.at <= out_of_step ? std::max(event.at, before) : event.at;
    latest = std::max(latest, event.shown);
  }
  // In one millisecond, fences tell too: an act and the run that it allowed are not read in the order they happened in.
  // Repeats have no fence, and stand behind what they repeat.
  std::ranges::sort(events_, {}, [&](const Event& event) {
    return std::tuple(event.shown, fence_of(event) - 1, event.place);  // 0 - 1: behind all others
  });
  return std::move(events_);
}

std::string text_of(const std::optional<Held>& held, const std::string& id, std::vector<Event> events,
                    std::uint64_t dropped, bool whole) {
  std::string body;
  core::json::JsonWriter out(body);
  out.begin_object().text("id", id);
  if (held) write_key(out.name("key"), *held);
  out.name("events").begin_array();
  for (Event& event : events) {
    json::object members{{"at", time_text(event.at)}};
    for (auto& [name, value] : event.members) members[name] = std::move(value);
    out.verbatim(json::serialize(members));
  }
  out.end_array().number("dropped", dropped).boolean("partial", dropped > 0 || !whole).end_object();
  return body;
}

// The key that is meant. Nothing if it has gone, and only its history may be left.
Task<std::expected<std::optional<Held>, Response>> key_of(store::Desk* desk, std::string id) {
  const bool whole = id.size() == sizeof(Digest);
  const Result<std::vector<Held>> found = co_await desk->find(std::move(id), alike_max);
  if (!found) co_return std::unexpected(error_answer(503, found.error().detail));
  if (found->size() > 1) {
    co_return std::unexpected(error_answer(409, "several keys begin with this id; send more of it"));
  }
  if (!found->empty()) co_return std::optional<Held>(found->front());
  if (whole) co_return std::optional<Held>();
  co_return std::unexpected(error_answer(
      404, "there is no key with this id; keys that have expired are gone, and have a timeline by their whole id"));
}

}  // namespace

Task<Response> show_timeline(const Sources* sources, policy::RequestView request, Caller /*caller*/) {
  if (sources->desk == nullptr || sources->history == nullptr) co_return error_answer(501, "this store has no history");
  const std::optional<std::string> id = id_in(request);
  if (!id) co_return error_answer(400, "id: must be hexadecimal digits, an even number of them, up to 64");
  const std::expected<std::optional<Held>, Response> held = co_await key_of(sources->desk, *id);
  if (!held) co_return held.error();
  const std::optional<Held>& present = *held;
  std::string subject = *id;
  if (present) subject.assign(present->record.key.id.begin(), present->record.key.id.end());

  const Time now = sources->now();
  const store::HistorySpan span{.from = now - kept, .to = now + std::chrono::days{1}};
  Timeline timeline;
  bool whole = true;
  bool any = present.has_value();
  for (const store::HistoryKind kind : {store::HistoryKind::plain_run, store::HistoryKind::sighting}) {
    const Result<std::vector<store::HistoryRow>> rows = co_await sources->history->read(kind, subject, span, rows_max);
    if (!rows) co_return error_answer(503, rows.error().detail);
    for (const store::HistoryRow& row : *rows) timeline.add(row);
    whole = whole && rows->size() < rows_max;
    any = any || !rows->empty();
  }
  if (!any) co_return error_answer(404, "there is no key with this id, and nothing was seen of it in 30 days");
  if (present) timeline.add_present(*present);
  std::vector<Event> events = std::move(timeline).in_order();

  const store::HistorySpan life{.from = events.empty() ? now : events.front().at - clocks_differ, .to = span.to};
  const Result<std::vector<store::HistoryRow>> gaps =
      co_await sources->history->read(store::HistoryKind::gap, std::string(telemetry::gap_subject), life, rows_max);
  if (!gaps) co_return error_answer(503, gaps.error().detail);
  std::uint64_t dropped = 0;
  for (const store::HistoryRow& gap : *gaps) {
    boost::system::error_code error;
    const json::value value = json::parse(gap.value, error);
    if (!error && value.is_object()) dropped += number_in(value.get_object(), "dropped");
  }
  co_return json_answer(200, text_of(present, core::to_hex(subject), std::move(events), dropped, whole));
}

}  // namespace semel::admin
