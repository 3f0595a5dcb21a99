// Effects against keys, as tables; and whether the comparison would notice if it had gone blind.
#include "auditor/comparison.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/sha256.h"
#include <semel/clock.h>
#include <semel/key.h>

namespace semel::auditor {
namespace {

constexpr Time settled{Millis{100'000}};

Digest key_of(const std::string& text) {
  return core::sha256(text);
}

EffectMark effect(const std::string& key, std::int64_t at = 50'000, std::uint64_t worth = 0) {
  EffectMark mark;
  mark.key = key_of(key);
  mark.worth = worth;
  mark.at = at;
  return mark;
}

EffectMark keyless(const std::string& row, std::int64_t at = 50'000) {
  EffectMark mark = effect(row, at);
  mark.keyless = 1;
  return mark;
}

// What is said of each key; `states` of those that are not named are done.
std::map<std::string, std::size_t> judged(std::vector<EffectMark> marks,
                                          const std::map<std::string, KeyState>& states = {}) {
  const Comparison comparison(std::move(marks));
  std::vector<KeyState> in_order(comparison.keys(), KeyState::done);
  for (std::size_t i = 0; i < comparison.keys(); ++i) {
    for (const auto& [text, state] : states) {
      if (comparison.key(i) == key_of(text)) in_order[i] = state;
    }
  }
  std::map<std::string, std::size_t> counts;
  for (const Suspect& suspect : comparison.judge(in_order, settled)) ++counts[std::string(name(suspect.kind))];
  return counts;
}

using Counts = std::map<std::string, std::size_t>;

// One effect of a key that is done is as it should be.
TEST(Comparison, IsSilentWhenEveryKeyHasOneEffect) {
  EXPECT_EQ(judged({}), Counts{});
  EXPECT_EQ(judged({effect("a"), effect("b"), effect("c")}), Counts{});
}

// Two effects of one key are a duplicate, whatever the key is and however young they are.
TEST(Comparison, FindsADuplicateInEveryState) {
  for (const KeyState state :
       {KeyState::absent, KeyState::free, KeyState::running, KeyState::unknown, KeyState::done}) {
    EXPECT_EQ(judged({effect("a"), effect("b"), effect("a")}, {{"a", state}}), (Counts{{"duplicate", 1}}));
  }
  EXPECT_EQ(judged({effect("a", 150'000), effect("a", 160'000)}), (Counts{{"duplicate", 1}}));
  EXPECT_EQ(judged({effect("a", 50'000), effect("a", 160'000)}), (Counts{{"duplicate", 1}}));
}

// The table of comparison.h.
TEST(Comparison, JudgesOneEffectByItsKey) {
  const std::vector<std::pair<KeyState, Counts>> table{{KeyState::done, {}},
                                                       {KeyState::running, {}},
                                                       {KeyState::unknown, {{"ghost", 1}}},
                                                       {KeyState::free, {{"ghost", 1}}},
                                                       {KeyState::absent, {{"orphan", 1}}}};
  for (const auto& [state, expected] : table) {
    EXPECT_EQ(judged({effect("a"), effect("b")}, {{"a", state}}), expected) << static_cast<int>(state);
  }
}

// What is young may still be on its way: its key is not judged by it.
TEST(Comparison, LeavesYoungEffectsAlone) {
  EXPECT_EQ(judged({effect("a", 100'000)}, {{"a", KeyState::absent}}), Counts{});
  EXPECT_EQ(judged({effect("a", 99'999)}, {{"a", KeyState::absent}}), (Counts{{"orphan", 1}}));
  EXPECT_EQ(judged({keyless("r", 100'000)}), Counts{});
}

// Rows without a key are each a way around Semel, and never a duplicate of each other.
TEST(Comparison, TakesARowWithoutAKeyForAnOrphan) {
  EXPECT_EQ(judged({keyless("r1"), keyless("r2"), effect("a")}), (Counts{{"orphan", 2}}));
}

// The same value under two keys within the span; not under one key, not far apart, not without a value.
TEST(Comparison, FindsEqualValuesUnderDifferentKeys) {
  const auto pairs = [](std::vector<EffectMark> marks) {
    return Comparison(std::move(marks)).equal_values(settled, Millis{10'000}, 100).size();
  };
  EXPECT_EQ(pairs({effect("a", 1'000, 7), effect("b", 2'000, 7)}), 1U);
  EXPECT_EQ(pairs({effect("a", 1'000, 7), effect("b", 11'001, 7)}), 0U);
  EXPECT_EQ(pairs({effect("a", 1'000, 7), effect("a", 2'000, 7)}), 0U);
  EXPECT_EQ(pairs({effect("a", 1'000, 7), effect("b", 2'000, 8)}), 0U);
  EXPECT_EQ(pairs({effect("a", 1'000, 0), effect("b", 2'000, 0)}), 0U);
  EXPECT_EQ(pairs({effect("a", 1'000, 7), effect("b", 101'000, 7)}), 0U);
}

// Against a count by hand: tables of chance, with duplicates planted anywhere.
TEST(Comparison, AgreesWithACountByHand) {
  std::mt19937 chance(20'261'118);
  for (int round = 0; round < 200; ++round) {
    std::vector<EffectMark> marks;
    std::map<int, int> effects;
    const int keys = static_cast<int>(chance() % 40) + 1;
    for (int i = 0; i < 60; ++i) {
      const int key = static_cast<int>(chance() % static_cast<unsigned>(keys));
      ++effects[key];
      marks.push_back(effect(std::to_string(key), static_cast<std::int64_t>(chance() % 200'000)));
    }
    const auto doubled = std::ranges::count_if(effects, [](const auto& each) { return each.second > 1; });
    const Counts found = judged(std::move(marks));
    EXPECT_EQ(found.contains("duplicate") ? found.at("duplicate") : 0U, static_cast<std::size_t>(doubled));
  }
}

// The self-test: a comparison that is broken in any of these ways does not show exactly the duplicate that was planted.
TEST(Comparison, NoticesThatItIsBroken) {
  using Findings = std::vector<Suspect>;
  std::vector<EffectMark> marks{effect("a"), effect("b"), effect("b"), effect("c")};
  const Digest plant = key_of("planted");
  const auto run = [&](const std::function<Findings(Findings)>& broken) {
    std::vector<EffectMark> planted = marks;
    planted.push_back(effect("planted"));
    planted.push_back(effect("planted"));
    const Comparison with(planted);
    const Comparison without(marks);
    const std::vector<KeyState> states(with.keys(), KeyState::done);
    return sees_plant(broken(with.judge(states, settled)),
                      broken(without.judge(std::span(states).first(without.keys()), settled)), plant);
  };
  EXPECT_TRUE(run([](Findings found) { return found; }));
  EXPECT_FALSE(run([](Findings) { return Findings{}; })) << "finds nothing";
  EXPECT_FALSE(run([](Findings found) {
    if (found.size() > 1) found.pop_back();
    return found;
  })) << "forgets the last";
  EXPECT_FALSE(run([](Findings found) {
    if (found.size() > 1) found.erase(found.begin());
    return found;
  })) << "forgets the first";
  EXPECT_FALSE(run([&](Findings found) {
    std::erase_if(found, [&](const Suspect& suspect) { return suspect.key == plant; });
    return found;
  })) << "does not see this one";
  EXPECT_FALSE(run([](Findings found) {
    for (Suspect& suspect : found) suspect.kind = AuditKind::orphan;
    return found;
  })) << "calls it something else";
  EXPECT_FALSE(run([](Findings found) {
    for (std::size_t i = 0, count = found.size(); i < count; ++i) found.push_back(found[i]);
    return found;
  })) << "finds everything twice";
  EXPECT_FALSE(run([](Findings found) {
    for (Suspect& suspect : found) suspect.effects = 1;
    return found;
  })) << "counts wrongly";
}

// Taking a key out leaves the others as they were.
TEST(Comparison, CanForgetAKey) {
  Comparison comparison({effect("a"), effect("b"), effect("b"), effect("c")});
  EXPECT_TRUE(comparison.has(key_of("b")));
  comparison.erase(key_of("b"));
  EXPECT_FALSE(comparison.has(key_of("b")));
  EXPECT_EQ(comparison.keys(), 2U);
  EXPECT_TRUE(comparison.has(key_of("a")));
  EXPECT_TRUE(comparison.has(key_of("c")));
}

}  // namespace
}  // namespace semel::auditor
