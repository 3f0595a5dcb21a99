// What the rows of a query say about the keys that were asked for. Pure.
//
// A row is believed only for the key whose name in the store its namespace, scope and text give: a row of another
// tenant with the same key is not this one's answer, and not a sign of its absence either.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/keep.h"
#include "resolver/ruling.h"
#include "resolver/source.h"
#include <semel/clock.h>
#include <semel/key.h>

namespace semel::resolver {

struct AnswerRow {
  std::optional<std::string> key;
  std::optional<std::string> status;
  std::optional<std::string> body;
  std::optional<std::string> scope;         // of a route that has one
  std::optional<std::string> content_type;  // if the query has it
};

struct AnswerRules {
  // The name in the store of the key with this scope and text; none if there cannot be one.
  std::function<std::optional<Digest>(const std::string& scope, const std::string& key)> name;
  policy::KeepRules keep;
  std::uint64_t store_body_max = 0;
  std::string replayed_header;
};

std::vector<Testimony> testify(std::span<const KeyQuestion> questions, std::span<const AnswerRow> rows,
                               const AnswerRules& rules, Millis lag);

}  // namespace semel::resolver
