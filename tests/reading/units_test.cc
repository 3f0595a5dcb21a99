// Durations, sizes, rates, suggestions and secrets.
#include "reading/units.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "reading/nearest.h"
#include "reading/secret.h"

namespace semel::reading {
namespace {

// Durations are one number and one unit.
TEST(Units, ReadsDurations) {
  EXPECT_EQ(parse_duration("500ms").value(), Millis{500});
  EXPECT_EQ(parse_duration("30s").value(), Millis{30'000});
  EXPECT_EQ(parse_duration("5m").value(), Millis{300'000});
  EXPECT_EQ(parse_duration("24h").value(), Millis{86'400'000});
  EXPECT_EQ(parse_duration("7d").value(), Millis{604'800'000});
  EXPECT_EQ(parse_duration("0s").value(), Millis{0});
}

// Nothing else is taken, and the nearest right spelling is offered where there is one.
TEST(Units, RefusesOtherDurationsWithASuggestion) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases{
      {"", ""},        {"30", ""},       {"s", ""},        {"-1s", ""},     {"1.5s", ""},
      {"30 s", "30s"}, {"30S", "30s"},   {"30sec", "30s"}, {" 30s", "30s"}, {"2 hours", "2h"},
      {"1h30m", ""},   {"30min", "30m"}, {"7days", "7d"},  {"0x10s", ""},   {"1e3ms", ""}};
  for (const auto& [text, suggestion] : cases) {
    const auto parsed = parse_duration(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().suggestion, suggestion) << text;
    EXPECT_NE(parsed.error().message.find("is not a duration"), std::string::npos) << text;
  }
}

// A number that does not fit is an error of its own, not another number.
TEST(Units, RefusesWhatOverflows) {
  EXPECT_EQ(parse_duration("99999999999999999999s").error().message, "\"99999999999999999999s\" is too large");
  EXPECT_EQ(parse_duration("106751991168d").error().message, "\"106751991168d\" is too large");
  EXPECT_EQ(parse_bytes("9999999999999GiB").error().message, "\"9999999999999GiB\" is too large");
  EXPECT_EQ(parse_rate("4294967296/s").error().message, "\"4294967296/s\" is too large");
}

// Sizes are binary units or plain bytes; decimal units are refused because people mean different things by them.
TEST(Units, ReadsSizes) {
  EXPECT_EQ(parse_bytes("512").value(), 512U);
  EXPECT_EQ(parse_bytes("512B").value(), 512U);
  EXPECT_EQ(parse_bytes("64KiB").value(), 65'536U);
  EXPECT_EQ(parse_bytes("1MiB").value(), 1'048'576U);
  EXPECT_EQ(parse_bytes("2GiB").value(), 2'147'483'648U);
  EXPECT_EQ(parse_bytes("1MB").error().suggestion, "1MiB");
  EXPECT_EQ(parse_bytes("64k").error().suggestion, "64KiB");
  EXPECT_EQ(parse_bytes("1mib").error().suggestion, "1MiB");
  EXPECT_FALSE(parse_bytes(""));
}

// Rates are per second, minute or hour, and never zero.
TEST(Units, ReadsRates) {
  EXPECT_EQ(parse_rate("200/s").value(), (Rate{.count = 200, .per = Millis{1'000}}));
  EXPECT_EQ(parse_rate("10/m").value(), (Rate{.count = 10, .per = Millis{60'000}}));
  EXPECT_EQ(parse_rate("5/h").value(), (Rate{.count = 5, .per = Millis{3'600'000}}));
  EXPECT_EQ(parse_rate("0/s").error().message, "a rate of 0 would refuse everything");
  EXPECT_EQ(parse_rate("200/sec").error().suggestion, "200/s");
  EXPECT_FALSE(parse_rate("200"));
}

// What the writers write, the readers read back. No time at all is in seconds: nobody writes 0d.
TEST(Units, WritesWhatItReads) {
  EXPECT_EQ(duration_text(Millis{0}), "0s");
  rc::check([](std::uint32_t number) {
    RC_ASSERT(parse_duration(duration_text(Millis{number})).value() == Millis{number});
    RC_ASSERT(parse_bytes(bytes_text(number)).value() == number);
    const Rate rate{.count = number == 0 ? 1 : number, .per = Millis{60'000}};
    RC_ASSERT(parse_rate(rate_text(rate)).value() == rate);
  });
}

// The distance counts letters changed, added, left out or swapped.
TEST(Nearest, CountsEdits) {
  EXPECT_EQ(edit_distance("listen", "listen"), 0U);
  EXPECT_EQ(edit_distance("lissten", "listen"), 1U);
  EXPECT_EQ(edit_distance("litsen", "listen"), 1U);
  EXPECT_EQ(edit_distance("", "ttl"), 3U);
  EXPECT_EQ(edit_distance("ca", "abc"), 3U);
}

// A suggestion must be near; a bad one is worse than none.
TEST(Nearest, SuggestsOnlyWhatIsNear) {
  const std::vector<std::string_view> names{"listen", "threads", "ttl"};
  EXPECT_EQ(nearest("Listen", names), "listen");
  EXPECT_EQ(nearest("thread", names), "threads");
  EXPECT_EQ(nearest("tll", names), "ttl");
  EXPECT_EQ(nearest("address", names), std::nullopt);
  EXPECT_EQ(nearest(std::string(1000, 'a'), names), std::nullopt);
  EXPECT_EQ(nearest("x", std::vector<std::string_view>{}), std::nullopt);
}

// A secret does not show itself when it is printed by mistake.
TEST(Secret, DoesNotPrint) {
  const Secret secret("hunter2");
  EXPECT_EQ(fmt::format("{}", secret), "[secret]");
  EXPECT_EQ(fmt::format("{:>10}", secret), "  [secret]");
  EXPECT_EQ(secret.reveal(), "hunter2");
}

}  // namespace
}  // namespace semel::reading
