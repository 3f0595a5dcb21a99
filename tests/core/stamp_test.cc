// Stamps: the order of their bytes is the order of what they were made of.

#include "core/stamp.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/rfc3339.h"

namespace semel::test {
namespace {

void expect_rising(const std::vector<std::string>& texts, core::OrderForm form) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto stamp = core::stamp_of(texts[i], form);
    ASSERT_TRUE(stamp.has_value()) << texts[i];
    EXPECT_FALSE(stamp->empty());
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_LT(*core::stamp_of(texts[j], form), *stamp) << texts[j] << " / " << texts[i];
    }
  }
}

void expect_equal(const std::vector<std::string>& texts, core::OrderForm form) {
  for (const std::string& text : texts)
    EXPECT_EQ(core::stamp_of(text, form), core::stamp_of(texts.front(), form)) << text;
}

// Numbers of any size compare exactly, with signs, fractions and exponents, and not as text or as floating point.
TEST(Stamp, NumbersCompareByValue) {
  expect_rising({"-1e400",
                 "-100000000000000000000000000000001",
                 "-100000000000000000000000000000000",
                 "-10",
                 "-9.5",
                 "-9",
                 "-1.25",
                 "-1.2",
                 "-1",
                 "-0.5",
                 "-0.05",
                 "-1e-9",
                 "0",
                 "1e-9",
                 "0.05",
                 "0.5",
                 "0.51",
                 "1",
                 "1.2",
                 "1.25",
                 "2",
                 "9",
                 "9.5",
                 "10",
                 "11",
                 "99",
                 "100",
                 "1700000000",
                 "1700000000.000001",
                 "9007199254740992",
                 "9007199254740993",
                 "18446744073709551615",
                 "18446744073709551616",
                 "100000000000000000000000000000000",
                 "100000000000000000000000000000001",
                 "1e400"},
                core::OrderForm::number);
}

// One value has one stamp, however it is written.
TEST(Stamp, OneNumberHasOneStamp) {
  expect_equal({"1000", "1e3", "1E+3", "1000.000", "0.1e4", "01000", "10000e-1"}, core::OrderForm::number);
  expect_equal({"0", "-0", "0.0", "000", "0e9"}, core::OrderForm::number);
  expect_equal({"-1.5", "-15e-1", "-01.50"}, core::OrderForm::number);
}

// For any two whole numbers the stamps say what the numbers say.
TEST(Stamp, AnyTwoNumbersCompareAsTheyShould) {
  EXPECT_TRUE(rc::check([](std::int64_t a, std::int64_t b) {
    const std::string one = *core::stamp_of(std::to_string(a), core::OrderForm::number);
    const std::string two = *core::stamp_of(std::to_string(b), core::OrderForm::number);
    RC_ASSERT((one < two) == (a < b));
    RC_ASSERT((one == two) == (a == b));
  }));
}

// What is not a number gets no stamp, rather than a wrong one.
TEST(Stamp, RefusesWhatIsNoNumber) {
  for (const char* text : {"", "-", "+1", " 1", "1 ", "1.", ".5", "1e", "1e+", "0x10", "1,000", "NaN", "Infinity",
                           "1e9999999", "2024-01-01", "--1", "1-"}) {
    EXPECT_FALSE(core::stamp_of(text, core::OrderForm::number).has_value()) << text;
  }
  EXPECT_FALSE(core::stamp_of(std::string(1'001, '1'), core::OrderForm::number).has_value());
  EXPECT_TRUE(core::stamp_of(std::string(1'000, '1'), core::OrderForm::number).has_value());
}

// Times compare to the last digit of the second, across zones, days and years.
TEST(Stamp, TimesCompareByInstant) {
  expect_rising(
      {"0001-01-01T00:00:00Z", "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00Z", "2024-02-28T23:59:59Z",
       "2024-02-29T00:00:00Z", "2024-03-01T10:00:00.1+02:00", "2024-03-01T08:00:00.15Z",
       "2024-03-01T08:00:00.150000000000000000001Z", "2024-03-01T03:30:01-04:30", "2024-03-01T08:00:01.0000000001Z",
       "2024-12-31T23:59:59.9Z", "2025-01-01T00:30:00+00:15", "9999-12-31T23:59:59Z"},
      core::OrderForm::rfc3339);
}

// One instant has one stamp, whatever the zone and the number of zeros.
TEST(Stamp, OneInstantHasOneStamp) {
  expect_equal({"2024-03-01T08:00:00Z", "2024-03-01T08:00:00.000Z", "2024-03-01T10:00:00+02:00", "2024-03-01 08:00:00",
                "2024-03-01t08:00:00z", "2024-03-01T10:00:00+0200", "2024-03-01 08:00:00 UTC",
                "2024-02-29T23:59:00-08:01", "2024-03-01T07:59:60Z"},
               core::OrderForm::rfc3339);
  expect_equal({"2024-03-01T08:00:00.5Z", "2024-03-01T08:00:00.500000Z"}, core::OrderForm::rfc3339);
}

// What is not a time gets no stamp.
TEST(Stamp, RefusesWhatIsNoTime) {
  for (const char* text : {"", "2024-03-01", "2024-02-30T00:00:00Z", "2024-03-01T24:00:00Z", "2024-03-01T08:00:00.Z",
                           "2024-03-01T08:00:00Z ", "1700000000", "2024-03-01T08:00:00 PST", "2024-3-1T08:00:00Z"}) {
    EXPECT_FALSE(core::stamp_of(text, core::OrderForm::rfc3339).has_value()) << text;
  }
}

// Identifiers that sort are compared as they stand, byte by byte.
TEST(Stamp, TextComparesAsBytes) {
  expect_rising(
      {"01ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3NDEKTSV4RRFFQ69G5FAW", "01BX5ZZKBKACTAV9WEVGEMMVRZ", "a", "ab", "\xc3\xa4"},
      core::OrderForm::text);
  EXPECT_FALSE(core::stamp_of("", core::OrderForm::text).has_value());
}

}  // namespace
}  // namespace semel::test
