// Effects on one side, keys on the other: what does not fit. Pure: no I/O, no clock.
//
//   effects of a key      the key is
//                         done        running     unknown, free     not there
//   1                     fine        fine yet    ghost             orphan
//   2 or more             duplicate   duplicate   duplicate         duplicate
//   a row without a key                                             orphan
//
// A key that is done and has no effect is `missing`; the effects alone do not show it, so it is told apart from here
// (missing_of). Effects that are younger than the audit's `settle` are looked at for duplicates only: two rows are two
// rows, but what is not there yet may still come.
//
// A million effects are 48 MB here, and nothing is copied: the marks are sorted where they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <semel/clock.h>
#include <semel/key.h>

namespace semel::auditor {

// The numbers are in stored findings: one that has been used means the same for ever.
enum class AuditKind : std::uint8_t { duplicate = 1, missing = 2, ghost = 3, orphan = 4, duplicate_value = 5 };
inline constexpr std::size_t finding_kinds = 6;  // one more than the last

std::string_view name(AuditKind kind);

// An effect, as far as it is compared.
struct EffectMark {
  Digest key{};             // its id; of a row without a key, a hash of the row
  std::uint64_t worth = 0;  // a hash of scope and value; 0 if there is no value
  std::int64_t at : 63 = 0;
  std::uint64_t keyless : 1 = 0;
};

enum class KeyState : std::uint8_t { absent, free, running, unknown, done };

struct Suspect {
  AuditKind kind{};
  Digest key{};
  Digest other{};  // of duplicate_value: the second key
  std::size_t effects = 0;

  friend bool operator==(const Suspect&, const Suspect&) = default;
};

class Comparison {
 public:
  explicit Comparison(std::vector<EffectMark> marks);

  // The keys that have effects, each once, in order. Those of rows without a key are among them.
  [[nodiscard]] std::size_t keys() const { return starts_.size(); }
  [[nodiscard]] const Digest& key(std::size_t at) const { return marks_[starts_[at]].key; }
  [[nodiscard]] bool is_keyless(std::size_t at) const { return marks_[starts_[at]].keyless != 0; }
  [[nodiscard]] bool has(const Digest& key) const;
  // Takes a key with its effects out.
  void erase(const Digest& key);

  // One state for each key. In the order of the keys.
  [[nodiscard]] std::vector<Suspect> judge(std::span<const KeyState> states, Time settled) const;

  // Effects of the same worth under different keys, at most `span` apart: each with the one before it. Puts the marks
  // into another order, so it comes last.
  [[nodiscard]] std::vector<Suspect> equal_values(Time settled, Millis span, std::size_t limit) &&;

 private:
  void index();

  std::vector<EffectMark> marks_;      // by key, then by time
  std::vector<std::uint32_t> starts_;  // of each key
};

// Whether the comparison sees: with one duplicate that was planted it finds exactly that one more.
[[nodiscard]] bool sees_plant(std::span<const Suspect> with, std::span<const Suspect> without, const Digest& plant);

}  // namespace semel::auditor
