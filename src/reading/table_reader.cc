#include "reading/table_reader.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "reading/document.h"
#include "reading/fault.h"
#include "reading/issue.h"
#include "reading/nearest.h"

namespace semel::reading {

TableReader::TableReader(Reading& reading, const Node* table, std::string name)
    : reading_(&reading), table_(table), name_(std::move(name)) {
  if (table_ == nullptr || table_->kind == NodeKind::table) return;
  reading_->report.error(table_->at, fmt::format("{} must be a table, not {}", name_, kind_name(table_->kind)));
  table_ = nullptr;
}

const Node* TableReader::find(std::string_view key) {
  known_.emplace_back(key);
  return table_ == nullptr ? nullptr : table_->find(key);
}

const Node* TableReader::require(std::string_view key) {
  const Node* const value = find(key);
  if (value == nullptr && table_ != nullptr) reject(key, at(key), fmt::format("{} needs `{}`", name_, key));
  return value;
}

void TableReader::reject(std::string_view key, Position at, std::string_view message, std::string_view suggestion) {
  bad_.emplace_back(key);
  reading_->report.error(at, message, suggestion);
}

void TableReader::reject(std::string_view key, const Node& value, const Fault& fault) {
  reject(key, reading_->report.inside(value, fault.offset), fmt::format("{}: {}", key, fault.message),
         fault.suggestion);
}

bool TableReader::expect(std::string_view key, const Node& value, NodeKind wanted) {
  if (value.kind == wanted) return true;
  reject(key, value.at, fmt::format("{} must be {}, not {}", key, kind_name(wanted), kind_name(value.kind)));
  return false;
}

void TableReader::warn(std::string_view key, std::string_view message) {
  reading_->report.warning(at(key), message);
}

void TableReader::record(std::string_view key, std::string default_value, std::string value) {
  reading_->uses.push_back({.table = name_,
                            .key = std::string(key),
                            .default_value = std::move(default_value),
                            .value = std::move(value),
                            .present = has(key)});
}

bool TableReader::good(std::string_view key) const {
  return std::ranges::find(bad_, key) == bad_.end();
}

Position TableReader::at(std::string_view key) const {
  if (table_ == nullptr) return {};
  const Node* const value = table_->find(key);
  return value == nullptr ? table_->at : value->at;
}

void TableReader::finish() {
  if (table_ == nullptr) return;
  const std::vector<std::string_view> names(known_.begin(), known_.end());
  for (const Node& member : table_->children) {
    if (std::ranges::find(names, member.name) != names.end()) continue;
    const auto near = nearest(member.name, names);
    reading_->report.error(member.name_at, fmt::format("{} has no key `{}`", name_, member.name),
                           near.value_or(std::string_view{}));
  }
}

}  // namespace semel::reading
