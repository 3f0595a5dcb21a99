// Verdicts by status, and the filter between what an upstream sent and what is kept of it.
#include "policy/keep.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/ascii.h"
#include "core/check.h"
#include "core/field_view.h"
#include "policy/fields.h"
#include "policy/request_view.h"
#include "reading/fault.h"
#include <semel/once.h>
#include <semel/response.h>
#include <semel/result.h>

namespace semel::policy {
namespace {

Verdict usual_verdict(std::uint16_t status) {
  switch (status) {
    case 401:
    case 403:
    case 408:
    case 409:
    case 425:
    case 429:
    case 500:
    case 501:
    case 503:
      return Verdict::release;
    default:
      return status >= 200 && status < 500 ? Verdict::keep : Verdict::unknown;
  }
}

// Null if the field is missing, or has no known value (then `bad` is set).
std::optional<Verdict> upstream_verdict(std::span<const FieldView> fields, bool& bad) {
  const std::vector<std::string_view> lines = lines_of(fields, outcome_field);
  if (lines.empty()) return std::nullopt;
  const std::string_view value = lines.size() == 1 ? core::trimmed(lines.front()) : std::string_view{};
  if (value == "store") return Verdict::keep;
  if (value == "release") return Verdict::release;
  if (value == "unknown") return Verdict::unknown;
  bad = true;
  return std::nullopt;
}

bool is_ours(std::string_view name, std::string_view replayed_header) {
  return core::equal_ignoring_case(name, outcome_field) || core::equal_ignoring_case(name, expires_field) ||
         core::equal_ignoring_case(name, replayed_header);
}

bool ends_here(std::string_view name, std::span<const std::string_view> connection, std::string_view replayed_header) {
  return is_hop_by_hop(name) || is_framing(name) || contains_name(connection, name) || is_ours(name, replayed_header);
}

}  // namespace

reading::Parsed<void> KeepRules::set(std::string_view statuses, Verdict verdict) {
  const bool by_class = statuses.size() == 3 && statuses[0] >= '2' && statuses[0] <= '5' && statuses.substr(1) == "xx";
  if (by_class) {
    classes_.at(static_cast<std::size_t>(statuses[0] - '0')) = verdict;
    return {};
  }
  std::uint16_t status = 0;
  const bool digits = statuses.size() == 3 && std::ranges::all_of(statuses, core::is_digit);
  if (digits) std::from_chars(statuses.begin(), statuses.end(), status);
  if (status < 200 || status > 599) {
    const bool upper = statuses.size() == 3 && core::is_digit(statuses[0]) && statuses.substr(1) == "XX";
    return reading::fault(fmt::format("\"{}\" is not a status from 200 to 599 or a class such as \"5xx\"", statuses),
                          upper ? core::to_lower(statuses) : std::string{});
  }
  statuses_.emplace_back(status, verdict);
  return {};
}

std::optional<Verdict> KeepRules::find(std::uint16_t status) const {
  for (const auto& [own, verdict] : statuses_) {
    if (own == status) return verdict;
  }
  const std::size_t by_class = status / 100U;
  return by_class < classes_.size() ? classes_.at(by_class) : std::nullopt;
}

KeepRules keep_successes() {
  KeepRules rules;
  for (const std::string_view statuses : {"3xx", "4xx"}) {
    core::check(rules.set(statuses, Verdict::release).has_value(), "these are classes of statuses");
  }
  return rules;
}

Judgement judge(std::uint16_t status, std::span<const FieldView> fields, const KeepRules& rules) {
  Judgement judgement;
  const auto said = upstream_verdict(fields, judgement.bad_outcome_field);
  const auto ruled = rules.find(status);
  const bool is_final = status >= 200 && status <= 599;
  judgement.verdict = !is_final ? Verdict::unknown : said ? *said : ruled ? *ruled : usual_verdict(status);
  return judgement;
}

Judgement judge_probe(std::uint16_t status, std::span<const FieldView> fields) {
  Judgement judgement;
  const auto said = upstream_verdict(fields, judgement.bad_outcome_field);
  const bool happened = status >= 200 && status <= 299;
  const bool did_not = status == 404 || status == 410;
  judgement.verdict = said ? *said : happened ? Verdict::keep : did_not ? Verdict::release : Verdict::unknown;
  return judgement;
}

Response to_keep(std::uint16_t status, std::span<const FieldView> fields, std::string_view body,
                 const KeepTerms& terms) {
  Response response{.status = status, .fields = {}, .body = {}, .body_kept = body.size() <= terms.store_body_max};
  const ConnectionNames connection = named_by_connection(fields);
  response.fields.reserve(fields.size());
  for (const FieldView& field : fields) {
    if (!is_field_name(field.name) || !is_field_value(field.value)) continue;
    if (ends_here(field.name, connection, terms.replayed_header)) continue;
    if (is_personal(field.name) && !contains_name(terms.replay_fields, field.name)) continue;
    if (!response.body_kept && !core::equal_ignoring_case(field.name, "Location")) continue;
    response.fields.push_back({.name = std::string(field.name), .value = std::string(field.value)});
  }
  if (response.body_kept) response.body = std::string(body);
  return response;
}

void to_client(std::span<const FieldView> fields, std::string_view replayed_header, FieldSink sink) {
  const ConnectionNames connection = named_by_connection(fields);
  for (const FieldView& field : fields) {
    if (!is_field_name(field.name) || !is_field_value(field.value)) continue;
    if (!ends_here(field.name, connection, replayed_header)) sink(field.name, field.value);
  }
}

Result<void> check_stored(const Response& response) {
  if (response.status < 200 || response.status > 599)
    return fail(Code::corrupt, "the stored status is not a final one");
  for (const Field& field : response.fields) {
    if (!is_field_name(field.name)) return fail(Code::corrupt, "a stored field has a name that cannot be written");
    if (!is_field_value(field.value)) return fail(Code::corrupt, "a stored field has a value that cannot be written");
    if (is_hop_by_hop(field.name) || is_framing(field.name)) {
      return fail(Code::corrupt, "a stored field belongs to another connection");
    }
  }
  if (!response.body_kept && !response.body.empty()) return fail(Code::corrupt, "a tombstone has a body");
  return {};
}

}  // namespace semel::policy
