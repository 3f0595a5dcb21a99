#include "store/inbox_table.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <semel/result.h>

namespace semel::store {

Result<std::optional<std::string>> OverlayTable::get(std::string_view key) {
  const auto found = changes_.find(key);
  return found == changes_.end() ? below_.get(key) : Result<std::optional<std::string>>(found->second);
}

void OverlayTable::change(std::string key, Changes::mapped_type value) {
  const auto [at, is_new] = changes_.try_emplace(std::move(key));
  Former& former = journal_.emplace_back(Former{.at = at, .value = std::nullopt});
  if (!is_new) former.value.emplace(std::move(at->second));
  at->second = std::move(value);
}

void OverlayTable::go_back(std::size_t savepoint) {
  for (; journal_.size() > savepoint; journal_.pop_back()) {
    Former& former = journal_.back();
    if (former.value) {
      former.at->second = *std::move(former.value);
    } else {
      changes_.erase(former.at);
    }
  }
}

// Both are in order: what stands in the changes is shown in its place, and hides what it replaces.
Result<void> OverlayTable::walk(std::string_view begin, std::string_view prefix, InboxVisit visit) {
  auto next = changes_.lower_bound(begin);
  bool over = false;
  const auto ours_before = [&](std::optional<std::string_view> limit) {
    for (; next != changes_.end() && next->first.starts_with(prefix) && (!limit || next->first < *limit); ++next) {
      if (next->second && !visit(next->first, *next->second)) over = true;
      if (over) return;
    }
  };
  const auto below = [&](std::string_view key, std::string_view value) {
    ours_before(key);
    if (over) return false;
    if (next != changes_.end() && next->first == key) return true;  // comes with the changes
    over = !visit(key, value);
    return !over;
  };
  Result<void> walked = below_.walk(begin, prefix, below);
  if (walked && !over) ours_before(std::nullopt);
  return walked;
}

}  // namespace semel::store
