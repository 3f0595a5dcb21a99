// A finding as JSON: what is stored, shown and sent is the same text.
#include "auditor/finding.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>
#include <fmt/format.h>

#include "auditor/comparison.h"
#include "core/encoding.h"
#include "core/json/writer.h"
#include "core/rfc3339.h"
#include "core/sha256.h"
#include "core/utf8.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::auditor {
namespace {

namespace json = boost::json;

constexpr std::size_t id_digits = 32;
constexpr std::array kinds{AuditKind::duplicate, AuditKind::missing, AuditKind::ghost, AuditKind::orphan,
                           AuditKind::duplicate_value};
constexpr std::array states{FindingState::open, FindingState::acknowledged, FindingState::closed};

std::string_view view_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::string text_in(const json::object& object, std::string_view member) {
  const json::value* const value = object.if_contains(member);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::uint64_t number_in(const json::object& object, std::string_view member) {
  const json::value* const value = object.if_contains(member);
  boost::system::error_code error;
  if (value == nullptr || !value->is_number()) return 0;
  const auto number = value->to_number<std::uint64_t>(error);
  return error ? 0 : number;
}

const json::array& list_in(const json::object& object, std::string_view member) {
  static const json::array none;
  const json::value* const value = object.if_contains(member);
  return value != nullptr && value->is_array() ? value->get_array() : none;
}

// As it is where that can be: bytes that are read and written again as \u00xx would become other ones, and more.
void write_text(core::json::JsonWriter& out, const core::json::MemberName& member, std::string_view text) {
  if (core::is_utf8(text)) {
    out.text(member, text);
  } else {
    out.bytes(member, text);
  }
}

std::size_t written_bytes(std::string_view text) {
  std::string json;
  core::json::JsonWriter out(json);
  out.begin_object();
  write_text(out, "", text);
  return json.size();
}

template <class Name, std::size_t size>
std::optional<Name> named(const std::array<Name, size>& all, std::string_view text) {
  for (const Name each : all) {
    if (name(each) == text) return each;
  }
  return std::nullopt;
}

void write_key(core::json::JsonWriter& out, const KeyEvidence& key) {
  out.begin_object().text("id", key.id).text("state", key.state).number("fence", key.fence);
  if (key.claimed_at) out.text("claimed_at", audit_time(*key.claimed_at));
  out.name("seen").begin_array();
  for (const std::string& event : key.seen) out.verbatim(event);
  out.end_array().end_object();
}

KeyEvidence key_in(const json::object& object) {
  KeyEvidence key{.id = text_in(object, "id"),
                  .state = text_in(object, "state"),
                  .fence = number_in(object, "fence"),
                  .claimed_at = audit_time_from(text_in(object, "claimed_at")),
                  .seen = {}};
  for (const json::value& event : list_in(object, "seen")) key.seen.push_back(json::serialize(event));
  return key;
}

}  // namespace

std::string_view name(FindingState state) {
  if (state == FindingState::open) return "open";
  return state == FindingState::acknowledged ? "acknowledged" : "closed";
}

std::string audit_time(Time at) {
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(at - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), time.hours().count(),
                     time.minutes().count(), time.seconds().count(), time.subseconds().count());
}

std::optional<Time> audit_time_from(std::string_view text) {
  const std::optional<core::ExactTime> at = core::parse_rfc3339(text);
  if (!at) return std::nullopt;
  std::string millis(at->fraction.substr(0, 3));
  millis.resize(3, '0');
  Millis::rep part = 0;
  std::from_chars(millis.data(), millis.data() + millis.size(), part);
  return Time{std::chrono::seconds{at->seconds}} + Millis{part};
}

std::string evidence_text(std::string_view text) {
  if (text.size() <= evidence_text_bytes_max && written_bytes(text) <= evidence_text_bytes_max) {
    return std::string(text);
  }
  const std::string mark = fmt::format("... (cut: {} bytes in all)", text.size());
  std::string cut;
  std::size_t end = std::min(text.size(), evidence_text_bytes_max);
  do {
    end = end * 7 / 8;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // no half of a character
    cut = std::string(text.substr(0, end)) + mark;
  } while (written_bytes(cut) > evidence_text_bytes_max);
  return cut;
}

std::string finding_id(std::string_view audit, AuditKind kind, const Digest& key, const Digest& other) {
  const Digest digest = core::sha256_parts("semel finding v1", {audit, name(kind), view_of(key), view_of(other)});
  return core::to_hex(digest).substr(0, id_digits);
}

std::string finding_json(const AuditFinding& finding) {
  std::string text;
  core::json::JsonWriter out(text);
  out.begin_object().text("id", finding.id).text("audit", finding.audit).text("kind", name(finding.kind));
  out.text("state", name(finding.state)).number("effects", finding.effects);
  out.text("first_seen", audit_time(finding.first_seen)).text("last_seen", audit_time(finding.last_seen));
  out.name("rows").begin_array();
  for (const EvidenceRow& row : finding.rows) {
    out.begin_object();
    write_text(out, "effect", row.effect);
    out.text("at", audit_time(row.at));
    if (row.value) write_text(out, "value", *row.value);
    out.end_object();
  }
  out.end_array().name("keys").begin_array();
  for (const KeyEvidence& key : finding.keys) write_key(out, key);
  out.end_array();
  write_text(out, "reason", finding.reason);
  write_text(out, "who", finding.who);
  if (finding.acted_at) out.text("acted_at", audit_time(*finding.acted_at));
  out.number("paged", finding.paged).end_object();
  return text;
}

Result<AuditFinding> finding_from(std::string_view text) {
  boost::system::error_code error;
  const json::value value = json::parse(text, error);
  if (error || !value.is_object()) return fail(Code::corrupt, "a finding of an audit cannot be read");
  const json::object& object = value.get_object();
  const auto kind = named(kinds, text_in(object, "kind"));
  const auto state = named(states, text_in(object, "state"));
  if (!kind || !state) return fail(Code::corrupt, "a finding of an audit cannot be read: it has no kind or no state");
  AuditFinding finding;
  finding.id = text_in(object, "id");
  finding.audit = text_in(object, "audit");
  finding.kind = *kind;
  finding.state = *state;
  finding.effects = number_in(object, "effects");
  finding.first_seen = audit_time_from(text_in(object, "first_seen")).value_or(Time{});
  finding.last_seen = audit_time_from(text_in(object, "last_seen")).value_or(Time{});
  for (const json::value& each : list_in(object, "rows")) {
    if (!each.is_object()) continue;
    const json::object& row = each.get_object();
    EvidenceRow& made = finding.rows.emplace_back();
    made.effect = text_in(row, "effect");
    made.at = audit_time_from(text_in(row, "at")).value_or(Time{});
    if (row.contains("value")) made.value = text_in(row, "value");
  }
  for (const json::value& each : list_in(object, "keys")) {
    if (each.is_object()) finding.keys.push_back(key_in(each.get_object()));
  }
  finding.reason = text_in(object, "reason");
  finding.who = text_in(object, "who");
  finding.acted_at = audit_time_from(text_in(object, "acted_at"));
  finding.paged = number_in(object, "paged");
  return finding;
}

}  // namespace semel::auditor
