// reply.status: statuses for clients that expect others, one by one or as a set that has a name.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/sections.h"
#include "policy/reply.h"
#include "reading/document.h"
#include "reading/nearest.h"
#include "reading/read_values.h"
#include "reading/table_reader.h"
#include <semel/problem.h>

namespace semel::config {
namespace {

constexpr std::size_t problem_types = static_cast<std::size_t>(ProblemType::misdirected) + 1;
constexpr std::int64_t status_min = 400;
constexpr std::int64_t status_max = 599;

// As Stripe answers: https://docs.stripe.com/api/errors has 400 for a key with other parameters.
constexpr std::string_view stripe = "stripe";
constexpr std::array stripe_rules{policy::StatusRule{.type = ProblemType::key_reused, .status = 400}};

std::vector<std::string_view> problem_names() {
  std::vector<std::string_view> names;
  names.reserve(problem_types);
  for (std::size_t i = 0; i < problem_types; ++i) names.push_back(Problem::of(static_cast<ProblemType>(i)).slug());
  return names;
}

// One line of the table: the name of a problem and its status.
std::optional<policy::StatusRule> read_rule(reading::TableReader& table, const reading::Node& rule) {
  const std::vector<std::string_view> names = problem_names();
  const auto found = std::ranges::find(names, rule.name);
  if (found == names.end()) {
    table.reject("status", rule.name_at, fmt::format("there is no problem \"{}\"", rule.name),
                 reading::nearest(rule.name, names).value_or(std::string_view{}));
    return std::nullopt;
  }
  if (!table.expect("status", rule, reading::NodeKind::integer)) return std::nullopt;
  if (rule.integer < status_min || rule.integer > status_max) {
    table.reject("status", rule.at, "a refusal has a status from 400 to 599");
    return std::nullopt;
  }
  return policy::StatusRule{.type = static_cast<ProblemType>(found - names.begin()),
                            .status = static_cast<std::uint16_t>(rule.integer)};
}

}  // namespace

void read_reply_status(reading::TableReader& table, std::vector<policy::StatusRule>& into) {
  const reading::Node* const value = table.find("status");
  std::string written = "{}";
  if (value != nullptr && value->kind == reading::NodeKind::string) {
    if (value->text == stripe) {
      into.assign(stripe_rules.begin(), stripe_rules.end());
      written = reading::toml_string(stripe);
    } else {
      table.reject("status", value->at, fmt::format("status: there is no set \"{}\"", value->text), stripe);
    }
  } else if (value != nullptr && table.expect("status", *value, reading::NodeKind::table)) {
    std::vector<std::string> rules;
    for (const reading::Node& each : value->children) {
      const auto rule = read_rule(table, each);
      if (!rule) continue;
      into.push_back(*rule);
      rules.push_back(fmt::format("{} = {}", reading::toml_string(each.name), rule->status));
    }
    written = fmt::format("{{{}}}", fmt::join(rules, ", "));
  }
  table.record("status", "{}", written);
}

}  // namespace semel::config
