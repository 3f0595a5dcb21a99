// Rows are put to the keys that they are about; what is left over makes absence doubtful.
#include "resolver/answer_rows.h"

#include <charconv>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/field_view.h"
#include "policy/keep.h"
#include "resolver/ruling.h"
#include "resolver/source.h"
#include <semel/clock.h>
#include <semel/once.h>
#include <semel/response.h>

namespace semel::resolver {
namespace {

using RowsByKey = std::multimap<std::string_view, const AnswerRow*>;

Testimony contradictory(std::string detail) {
  return {.said = SourceSaid::contradictory, .detail = std::move(detail)};
}

std::optional<std::uint16_t> status_in(const std::string& text) {
  std::uint16_t status = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), status);
  if (error != std::errc() || end != text.data() + text.size() || status < 200 || status > 599) return std::nullopt;
  return status;
}

Testimony of_row(const AnswerRow& row, const AnswerRules& rules) {
  if (!row.status) return {.said = SourceSaid::pending};
  const std::optional<std::uint16_t> status = status_in(*row.status);
  if (!status) return contradictory("the source has it with a status that is none");
  if (policy::judge(*status, {}, rules.keep).verdict != Verdict::keep) {
    return contradictory(fmt::format("the source has it with status {}, which the route would not keep", *status));
  }
  const std::string body = row.body.value_or("");
  std::vector<FieldView> fields;
  const std::string_view type = row.content_type ? std::string_view(*row.content_type) : "application/json";
  if (!body.empty() && !type.empty()) fields.push_back({.name = "Content-Type", .value = type});
  const policy::KeepTerms terms{
      .store_body_max = rules.store_body_max, .replay_fields = {}, .replayed_header = rules.replayed_header};
  auto answer = std::make_shared<Response>(policy::to_keep(*status, fields, body, terms));
  if (const auto sound = policy::check_stored(*answer); !sound) {
    return contradictory("the source has an answer that cannot be sent: " + sound.error().detail);
  }
  return {.said = SourceSaid::found, .answer = std::move(answer)};
}

Testimony about(const KeyQuestion& question, const RowsByKey& rows, const AnswerRules& rules, bool strange) {
  std::vector<const AnswerRow*> own;
  bool elsewhere = false;
  const auto [begin, end] = rows.equal_range(question.key);
  for (auto at = begin; at != end; ++at) {
    const AnswerRow& row = *at->second;
    const bool fits = rules.name(row.scope.value_or(""), question.key) == question.id;
    if (fits) own.push_back(&row);
    elsewhere = elsewhere || !fits;
  }
  if (own.size() > 1) return contradictory(fmt::format("the source has {} answers for it", own.size()));
  if (own.size() == 1) return of_row(*own.front(), rules);
  if (elsewhere) return contradictory("the source has this key, but for another scope");
  if (strange) return {.said = SourceSaid::unclear, .detail = "it answered for a key that was not asked for"};
  return {.said = SourceSaid::absent};
}

}  // namespace

std::vector<Testimony> testify(std::span<const KeyQuestion> questions, std::span<const AnswerRow> rows,
                               const AnswerRules& rules, Millis lag) {
  std::map<std::string_view, bool> asked;
  for (const KeyQuestion& question : questions) asked.emplace(question.key, true);
  // A row for no question may be the answer to one of them, written in another way: then nothing is surely absent.
  bool strange = false;
  RowsByKey by_key;
  for (const AnswerRow& row : rows) {
    const bool meant = row.key && asked.contains(*row.key);
    strange = strange || !meant;
    if (meant) by_key.emplace(*row.key, &row);
  }
  std::vector<Testimony> said;
  said.reserve(questions.size());
  for (const KeyQuestion& question : questions) {
    said.push_back(about(question, by_key, rules, strange));
    said.back().lag = lag;
  }
  return said;
}

}  // namespace semel::resolver
