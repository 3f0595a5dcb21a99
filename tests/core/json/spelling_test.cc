// Random documents in random spellings: one document has one canonical form, two documents have two.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/multiprecision/cpp_int.hpp>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/json/canonical.h"
#include "support/json_maker.h"
#include "support/json_reference.h"
#include "support/json_speller.h"
#include <semel/fingerprint.h>

namespace semel::core::json {
namespace {

using test::any_json;
using test::Chance;
using test::Json;
using test::JsonSpeller;
using test::seeded;

// A document means the same however it is spelled, so every spelling has the same canonical form.
RC_GTEST_PROP(CanonicalJson, IsTheSameForEverySpellingOfADocument, (std::uint64_t seed)) {
  Chance chance = seeded(seed);
  const Json json = any_json(chance);
  const std::string left = JsonSpeller(chance).spell(json);
  const std::string right = JsonSpeller(chance).spell(json);
  const std::optional<std::string> canonical = canonical_json(left);
  RC_LOG() << left << "\n" << right << "\n";
  RC_ASSERT(canonical.has_value());
  RC_ASSERT(canonical == canonical_json(right));
}

// The canonical form is a spelling of the document too: reading it gives the document back, and it is its own form.
RC_GTEST_PROP(CanonicalJson, IsASpellingOfTheDocument, (std::uint64_t seed)) {
  Chance chance = seeded(seed);
  const Json json = any_json(chance);
  const std::string source = JsonSpeller(chance).spell(json);
  const std::optional<std::string> canonical = canonical_json(source);
  RC_LOG() << source << "\n";
  RC_ASSERT(canonical.has_value());
  RC_ASSERT(test::reference_json(*canonical) == json);
  RC_ASSERT(canonical_json(*canonical) == canonical);
}

// Whatever is changed in a document, a leaf or a name or an element, changes its canonical form.
RC_GTEST_PROP(CanonicalJson, ChangesWithAnythingInTheDocument, (std::uint64_t seed)) {
  Chance chance = seeded(seed);
  Json json = any_json(chance);
  const std::string before = JsonSpeller(chance).spell(json);
  test::change_something(json, chance);
  const std::string after = JsonSpeller(chance).spell(json);
  RC_LOG() << before << "\n" << after << "\n";
  RC_ASSERT(canonical_json(after).has_value());
  RC_ASSERT(canonical_json(before) != canonical_json(after));
}

// Leaving members out of the text gives the same document as leaving them out of the tree. The paths are short and the
// names few, so that they often lead somewhere.
RC_GTEST_PROP(CanonicalJson, LeavesOutWhatTheReferenceLeavesOut, (std::uint64_t seed)) {
  Chance chance = seeded(seed);
  const Json json = any_json(chance);
  std::vector<std::string> pointers;
  for (std::uint32_t count = 1 + chance(6); count > 0; --count) {
    std::string& pointer = pointers.emplace_back();
    for (std::uint32_t tokens = 1 + chance(3); tokens > 0; --tokens) {
      pointer += std::vector<std::string>{"/", "/a", "/b", "/A", "/0", "/1", "/2", "/\"", "/\\", "/\n"}[chance(10)];
    }
  }
  const IgnoreList ignore = *IgnoreList::parse(pointers);
  const std::string source = JsonSpeller(chance).spell(json);
  const std::optional<std::string> canonical = canonical_json(source, ignore);
  RC_LOG() << source << "\n";
  RC_ASSERT(canonical.has_value());
  RC_ASSERT(test::reference_json(*canonical) == test::without(json, ignore.paths()));
}

// Bytes flipped at random: the canonicaliser takes exactly what the slow reference takes.
RC_GTEST_PROP(CanonicalJson, TakesExactlyWhatTheReferenceTakes, (std::uint64_t seed)) {
  Chance chance = seeded(seed);
  std::string text = JsonSpeller(chance).spell(any_json(chance));
  for (std::uint32_t flips = 1 + chance(3); flips > 0; --flips) {
    const std::uint32_t at = chance(static_cast<std::uint32_t>(text.size()));
    text[at] = chance(2) == 0 ? static_cast<char>(chance(256)) : "{}[],:\"\\0-e."[chance(12)];
  }
  RC_LOG() << text << "\n";
  RC_ASSERT(canonical_json(text).has_value() == test::reference_json(text).has_value());
}

using Rational = boost::multiprecision::cpp_rational;

Rational value_of(const std::string& spelled) {
  const test::Decimal number = test::reference_json(spelled)->number;
  boost::multiprecision::cpp_int power = 1;
  for (long i = std::abs(number.exponent); i > 0; --i) power *= 10;
  const boost::multiprecision::cpp_int digits(number.digits.empty() ? "0" : number.digits);
  const Rational value = number.exponent < 0 ? Rational(digits, power) : Rational(digits * power);
  return number.negative ? Rational(-value) : value;
}

// Numbers of few digits, so that equal values come up often: equal as exact fractions, equal as canonical text.
RC_GTEST_PROP(CanonicalJson, TellsNumbersApartAsExactFractionsDo, (std::uint64_t seed)) {
  Chance chance = seeded(seed);
  const auto spelled = [&] {
    std::string text = chance(2) == 0 ? "-" : "";
    text += chance(3) == 0 ? "0" : std::to_string(1 + chance(120));
    if (chance(2) == 0) text += "." + std::to_string(chance(20)) + std::string(chance(3), '0');
    if (chance(2) == 0) text += "e" + std::to_string(static_cast<int>(chance(7)) - 3);
    return text;
  };
  const std::string left = spelled();
  const std::string right = spelled();
  RC_LOG() << left << " " << right << "\n";
  const bool both_zero = value_of(left) == 0 && value_of(right) == 0;
  const bool same_sign = left.starts_with('-') == right.starts_with('-');
  const bool same = value_of(left) == value_of(right) && (!both_zero || same_sign);
  RC_ASSERT((canonical_json(left) == canonical_json(right)) == same);
}

}  // namespace
}  // namespace semel::core::json
