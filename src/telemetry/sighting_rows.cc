// Attempts become text at once; repeats are counted until they are taken.
#include "telemetry/sighting_rows.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/function_ref.h"
#include "core/json/writer.h"
#include "core/shape.h"
#include "store/history.h"
#include "telemetry/cause.h"
#include "telemetry/route_metrics.h"
#include "telemetry/sighting.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/problem.h>

namespace semel::telemetry {
namespace {

constexpr std::size_t answers_max = 8;  // different ones, of one key in one second

// Run once, answered, kept: nothing that anybody will ask about, most likely.
bool is_plain(const Sighting& sighting) {
  const bool well = sighting.ending == Ending::ran || sighting.step == Sighting::Step::claimed;
  return well && sighting.fence == 1;
}

std::uint64_t micros(std::chrono::nanoseconds time) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, time.count()) / 1'000);
}

void write_shape(core::json::JsonWriter& json, core::Shape shape) {
  if (shape.bits == 0) return;
  std::array<std::uint8_t, sizeof(shape.bits)> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(shape.bits >> (8 * (bytes.size() - 1 - i)));
  }
  json.hex("shape", bytes);
}

std::string subject_of(const Digest& id) {
  return {id.begin(), id.end()};
}

}  // namespace

std::size_t SightingRows::IdHash::operator()(const Digest& id) const noexcept {
  std::size_t first = 0;  // it is a cryptographic hash already
  std::memcpy(&first, id.data(), sizeof(first));
  return first;
}

std::string_view answer_name(const Sighting& sighting) {
  if (sighting.problem) return Problem::of(*sighting.problem).slug();
  return sighting.waited ? std::string_view("waited") : name(sighting.ending);
}

void SightingRows::add(const Sighting& sighting) {
  const bool step = sighting.step != Sighting::Step::request;
  const bool attempted = step || !sighting.upstream.empty();
  const bool full = attempts_.size() + repeats_.size() >= rows_max;
  if (full || (attempted && is_plain(sighting) && ++plain_ > plain_max)) {
    ++dropped_;
  } else if (step) {
    add_step(sighting);
  } else if (attempted) {
    add_attempt(sighting);
  } else {
    add_repeat(sighting);
  }
}

void SightingRows::add_attempt(const Sighting& sighting) {
  std::string value;
  core::json::JsonWriter json(value);
  json.begin_object().text("event", "attempt").text("node", node_).number("fence", sighting.fence);
  json.bytes("route", sighting.route).bytes("upstream", sighting.upstream);
  if (sighting.upstream_status != 0) json.number("status", sighting.upstream_status);
  json.thousandths("ms", micros(sighting.upstream_time)).text("outcome", name(sighting.ending));
  if (sighting.cause != Cause::none) json.text("cause", name(sighting.cause));
  json.number("told", sighting.status).bytes("client", sighting.client);
  if (!sighting.agent.empty()) json.bytes("agent", sighting.agent);
  write_shape(json, sighting.shape);
  json.end_object();
  const auto kind = is_plain(sighting) ? store::HistoryKind::plain_run : store::HistoryKind::sighting;
  const Time began = sighting.at - std::chrono::floor<Millis>(sighting.time);
  attempts_.push_back({.kind = kind, .id = sighting.id, .at = began, .value = std::move(value)});
}

void SightingRows::add_step(const Sighting& sighting) {
  const bool claimed = sighting.step == Sighting::Step::claimed;
  std::string value;
  core::json::JsonWriter json(value);
  json.begin_object().text("event", claimed ? "claimed" : "outcome").text("node", node_);
  json.number("fence", sighting.fence);
  if (!claimed) json.text("outcome", name(sighting.ending));
  if (sighting.upstream_status != 0) json.number("status", sighting.upstream_status);
  json.bytes("route", sighting.route).bytes("client", sighting.client);
  if (!sighting.agent.empty()) json.bytes("agent", sighting.agent);
  json.end_object();
  const auto kind = is_plain(sighting) ? store::HistoryKind::plain_run : store::HistoryKind::sighting;
  attempts_.push_back({.kind = kind, .id = sighting.id, .at = sighting.at, .value = std::move(value)});
}

void SightingRows::add_repeat(const Sighting& sighting) {
  Repeats& repeats = repeats_[sighting.id];
  if (repeats.count++ == 0) repeats.first = repeats.last = sighting.at;
  repeats.first = std::min(repeats.first, sighting.at);
  repeats.last = std::max(repeats.last, sighting.at);
  const std::string_view answer = answer_name(sighting);
  const auto counted = std::ranges::find(repeats.answers, answer, &std::pair<std::string_view, std::uint64_t>::first);
  if (counted != repeats.answers.end()) {
    ++counted->second;
  } else if (repeats.answers.size() < answers_max) {
    repeats.answers.emplace_back(answer, 1);
  }
  const auto same = [&](const Caller& caller) {
    return caller.answer == answer && caller.client == sighting.client && caller.agent == sighting.agent;
  };
  if (const auto known = std::ranges::find_if(repeats.callers, same); known != repeats.callers.end()) {
    ++known->count;
  } else if (repeats.callers.size() < callers_max) {
    const bool other = sighting.problem == ProblemType::key_reused;
    repeats.callers.push_back({.client = std::string(sighting.client),
                               .agent = std::string(sighting.agent),
                               .answer = answer,
                               .status = sighting.status,
                               .count = 1,
                               .shape = other ? sighting.shape : core::Shape{}});
  }
}

std::string SightingRows::repeats_text(const Repeats& repeats) const {
  std::string value;
  core::json::JsonWriter json(value);
  json.begin_object().text("event", "repeats").text("node", node_);
  json.number("until", repeats.last.time_since_epoch().count()).number("count", repeats.count);
  json.name("answers").begin_object();
  for (const auto& [answer, count] : repeats.answers) json.escaped_name(answer).number(count);
  json.end_object().name("callers").begin_array();
  for (const Caller& caller : repeats.callers) {
    json.begin_object().bytes("client", caller.client);
    if (!caller.agent.empty()) json.bytes("agent", caller.agent);
    json.text("answer", caller.answer).number("status", caller.status).number("count", caller.count);
    write_shape(json, caller.shape);
    json.end_object();
  }
  json.end_array().end_object();
  return value;
}

std::vector<store::HistoryRow> SightingRows::take(Time now, core::FunctionRef<Digest(const Digest&)> named) {
  std::vector<store::HistoryRow> rows;
  rows.reserve(attempts_.size() + repeats_.size() + 1);
  for (Attempted& attempt : attempts_) {
    rows.push_back({.kind = attempt.kind,
                    .subject = subject_of(named(attempt.id)),
                    .at = attempt.at,
                    .value = std::move(attempt.value)});
  }
  for (const auto& [id, repeats] : repeats_) {
    rows.push_back({.kind = store::HistoryKind::sighting,
                    .subject = subject_of(named(id)),
                    .at = repeats.first,
                    .value = repeats_text(repeats)});
  }
  if (dropped_ > 0) {
    std::string value;
    core::json::JsonWriter json(value);
    json.begin_object().text("event", "gap").text("node", node_).number("dropped", dropped_).end_object();
    rows.push_back({.kind = store::HistoryKind::gap, .subject = std::string(gap_subject), .at = now, .value = value});
  }
  attempts_.clear();
  repeats_.clear();
  plain_ = 0;
  dropped_ = 0;
  return rows;
}

}  // namespace semel::telemetry
