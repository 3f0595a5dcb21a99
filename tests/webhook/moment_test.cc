#include "webhook/moment.h"

#include <chrono>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace semel::webhook {
namespace {

constexpr Time golden{Millis{1'700'000'000'000}};  // 2023-11-14T22:13:20Z

// Each way of writing one and the same moment.
TEST(Moments, AreReadInEveryForm) {
  EXPECT_EQ(parse_moment("1700000000", MomentForm::seconds), golden);
  EXPECT_EQ(parse_moment("1700000000000", MomentForm::millis), golden);
  for (const std::string_view text :
       {"2023-11-14T22:13:20Z", "2023-11-14t22:13:20z", "2023-11-14T22:13:20.000000000Z", "2023-11-14T23:13:20+01:00",
        "2023-11-14T23:13:20+0100", "2023-11-14T20:43:20-01:30", "2023-11-14 22:13:20", "2023-11-14T22:13:20"}) {
    EXPECT_EQ(parse_moment(text, MomentForm::rfc3339), golden) << text;
  }
  EXPECT_EQ(parse_moment("2023-11-14T22:13:20.1239Z", MomentForm::rfc3339), golden + Millis{123});
  EXPECT_EQ(parse_moment("2023-11-14T22:13:20.1Z", MomentForm::rfc3339), golden + Millis{100});
  EXPECT_EQ(parse_moment("1969-12-31T23:59:59Z", MomentForm::rfc3339), Time(Millis{-1'000}));
}

// What is not a moment is nothing, whatever it looks like.
TEST(Moments, RefuseEverythingElse) {
  for (const std::string_view text : {"", " 1", "1 ", "+1", "-1", "1e9", "0x1", "1.0", "1700000000abc", "１",
                                      "1234567890123456", "99999999999999999999999999"}) {
    EXPECT_EQ(parse_moment(text, MomentForm::seconds), std::nullopt) << text;
  }
  for (const std::string_view text :
       {"", "2023-11-14", "2023-11-14T22:13Z", "2023-13-14T22:13:20Z", "2023-02-30T22:13:20Z", "2023-11-14T24:00:00Z",
        "2023-11-14T22:60:20Z", "2023-11-14T22:13:61Z", "2023-11-14T22:13:20.Z", "2023-11-14T22:13:20+1",
        "2023-11-14T22:13:20+24:00", "2023-11-14T22:13:20Zz", "2023-1-14T22:13:20Z", "20231114T221320Z"}) {
    EXPECT_EQ(parse_moment(text, MomentForm::rfc3339), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace semel::webhook
