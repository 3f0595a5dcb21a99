// Sorted marks, walked once.
#include "auditor/comparison.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/check.h"
#include <semel/clock.h>
#include <semel/key.h>

namespace semel::auditor {
namespace {

static_assert(sizeof(EffectMark) == 48);

std::optional<AuditKind> kind_of(std::size_t effects, bool keyless, bool settled, KeyState state) {
  if (effects >= 2 && !keyless) return AuditKind::duplicate;
  if (!settled) return std::nullopt;
  if (keyless || state == KeyState::absent) return AuditKind::orphan;
  if (state == KeyState::unknown || state == KeyState::free) return AuditKind::ghost;
  return std::nullopt;
}

Time time_of(const EffectMark& mark) {
  return Time{Millis{mark.at}};
}

}  // namespace

std::string_view name(AuditKind kind) {
  switch (kind) {
    case AuditKind::duplicate:
      return "duplicate";
    case AuditKind::missing:
      return "missing";
    case AuditKind::ghost:
      return "ghost";
    case AuditKind::orphan:
      return "orphan";
    case AuditKind::duplicate_value:
      break;
  }
  return "duplicate-value";
}

Comparison::Comparison(std::vector<EffectMark> marks) : marks_(std::move(marks)) {
  std::ranges::sort(
      marks_, [](const EffectMark& a, const EffectMark& b) { return a.key != b.key ? a.key < b.key : a.at < b.at; });
  index();
}

void Comparison::index() {
  starts_.clear();
  starts_.reserve(marks_.size());
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    if (i == 0 || marks_[i].key != marks_[i - 1].key) starts_.push_back(static_cast<std::uint32_t>(i));
  }
}

bool Comparison::has(const Digest& key) const {
  return std::ranges::binary_search(marks_, key, {}, &EffectMark::key);
}

void Comparison::erase(const Digest& key) {
  const auto found = std::ranges::equal_range(marks_, key, {}, &EffectMark::key);
  marks_.erase(found.begin(), found.end());
  index();
}

std::vector<Suspect> Comparison::judge(std::span<const KeyState> states, Time settled) const {
  core::check(states.size() == keys(), "there is a state for each key");
  std::vector<Suspect> found;
  for (std::size_t i = 0; i < starts_.size(); ++i) {
    const std::size_t end = i + 1 < starts_.size() ? starts_[i + 1] : marks_.size();
    const EffectMark& first = marks_[starts_[i]];
    const std::size_t effects = end - starts_[i];
    const auto kind = kind_of(effects, first.keyless != 0, time_of(first) < settled, states[i]);
    if (kind) found.push_back({.kind = *kind, .key = first.key, .effects = effects});
  }
  return found;
}

std::vector<Suspect> Comparison::equal_values(Time settled, Millis span, std::size_t limit) && {
  starts_.clear();
  std::erase_if(
      marks_, [&](const EffectMark& mark) { return mark.worth == 0 || mark.keyless != 0 || time_of(mark) >= settled; });
  std::ranges::sort(marks_, [](const EffectMark& a, const EffectMark& b) {
    return a.worth != b.worth ? a.worth < b.worth : a.at < b.at;
  });
  std::vector<Suspect> found;
  for (std::size_t i = 1; i < marks_.size() && found.size() < limit; ++i) {
    const EffectMark& one = marks_[i - 1];
    const EffectMark& other = marks_[i];
    if (one.worth != other.worth || one.key == other.key || other.at - one.at > span.count()) continue;
    found.push_back({.kind = AuditKind::duplicate_value, .key = one.key, .other = other.key, .effects = 2});
  }
  return found;
}

bool sees_plant(std::span<const Suspect> with, std::span<const Suspect> without, const Digest& plant) {
  if (with.size() != without.size() + 1) return false;
  const auto planted = std::ranges::find(with, plant, &Suspect::key);
  if (planted == with.end() || planted->kind != AuditKind::duplicate || planted->effects != 2) return false;
  return std::equal(with.begin(), planted, without.begin()) &&
         std::equal(planted + 1, with.end(), without.begin() + (planted - with.begin()));
}

}  // namespace semel::auditor
