#include "inbox/verdict.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace semel::inbox {
namespace {

constexpr Time now{Millis{1'700'000'000'000}};

Ruling rule(std::uint16_t status, std::vector<FieldView> fields = {}) {
  return rule_answer(status, fields, {400, 422}, now);
}

// The table of verdict.h, status by status.
TEST(InboxVerdict, FollowsTheStatus) {
  struct Row {
    std::uint16_t status;
    DeliveryFate fate;
    Health health;
    bool hopeless;
    bool gone;
  };
  const std::vector<Row> rows{
      {200, DeliveryFate::done, Health::well, true, false},
      {204, DeliveryFate::done, Health::well, true, false},
      {301, DeliveryFate::later, Health::well, true, false},
      {400, DeliveryFate::dead, Health::well, true, false},
      {401, DeliveryFate::later, Health::well, true, false},
      {404, DeliveryFate::later, Health::well, true, false},
      {408, DeliveryFate::later, Health::well, false, false},
      {410, DeliveryFate::later, Health::well, true, true},
      {422, DeliveryFate::dead, Health::well, true, false},
      {425, DeliveryFate::later, Health::well, false, false},
      {429, DeliveryFate::later, Health::failing, false, false},
      {500, DeliveryFate::later, Health::well, false, false},
      {502, DeliveryFate::later, Health::failing, false, false},
      {503, DeliveryFate::later, Health::failing, false, false},
      {504, DeliveryFate::later, Health::failing, false, false},
  };
  for (const Row& row : rows) {
    const Ruling ruling = rule(row.status);
    EXPECT_EQ(ruling.fate, row.fate) << row.status;
    EXPECT_EQ(ruling.health, row.health) << row.status;
    EXPECT_EQ(ruling.hopeless, row.hopeless) << row.status;
    EXPECT_EQ(ruling.gone, row.gone) << row.status;
  }
}

// What the handler says outright decides, whatever its status is.
TEST(InboxVerdict, HearsSemelOutcome) {
  const auto said = [](std::uint16_t status, std::string_view word) {
    return rule(status, {{.name = "semel-outcome", .value = word}});
  };
  EXPECT_EQ(said(500, "store").fate, DeliveryFate::done);
  EXPECT_EQ(said(200, "release").fate, DeliveryFate::later);
  EXPECT_EQ(said(200, "unknown").fate, DeliveryFate::unknown);
  EXPECT_EQ(said(200, "Dead").fate, DeliveryFate::dead);
  EXPECT_EQ(said(200, "perhaps").fate, DeliveryFate::done);
  EXPECT_FALSE(said(410, "release").gone);
  EXPECT_EQ(said(503, "release").health, Health::well);
}

// Retry-After counts on 429 and 5xx only.
TEST(InboxVerdict, HearsRetryAfterWhereItMeansSomething) {
  const std::vector<FieldView> asks{{.name = "Retry-After", .value = "7"}};
  EXPECT_EQ(rule(429, asks).retry_after, Millis{7'000});
  EXPECT_EQ(rule(503, asks).retry_after, Millis{7'000});
  EXPECT_EQ(rule(404, asks).retry_after, std::nullopt);
}

// Only what was never sent surely had no effect.
TEST(InboxVerdict, TellsSilenceApart) {
  EXPECT_EQ(rule_silence(Silence::not_reached).fate, DeliveryFate::later);
  EXPECT_EQ(rule_silence(Silence::timed_out).fate, DeliveryFate::unknown);
  EXPECT_EQ(rule_silence(Silence::lost).fate, DeliveryFate::unknown);
  EXPECT_EQ(rule_silence(Silence::lost).health, Health::failing);
}

}  // namespace
}  // namespace semel::inbox
