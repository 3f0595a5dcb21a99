// The doctor's rules one by one: where each begins to speak, and what it says.

#include "telemetry/doctor_rules.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "telemetry/finding.h"
#include "telemetry/late_keys.h"

namespace semel::telemetry {
namespace {

using namespace std::chrono_literals;

void set_shape(ClientCounts& counts, KeyShape shape, std::uint64_t count) {
  counts.shapes.at(static_cast<std::size_t>(shape)) = count;
}

struct Patient {
  const char* what;
  std::function<void(ClientCase&)> set;
  std::optional<FindingKind> found;
  bool strong = true;
};
const std::vector<Patient> patients{
    {"nothing", [](ClientCase&) {}, std::nullopt},
    {"a good client",
     [](ClientCase& c) {
       c.counts.runs = 1'000;
       c.counts.refused = {.failed = 20, .again = 1};
       c.counts.after_success = 10;
       set_shape(c.counts, KeyShape::opaque, 1'000);
     },
     std::nullopt},
    {"one retry with another key",
     [](ClientCase& c) {
       c.counts.runs = 100;
       c.counts.refused = {.failed = 1, .again = 1};
     },
     std::nullopt},
    {"every retry with another key",
     [](ClientCase& c) {
       c.counts.runs = 100;
       c.counts.refused = {.failed = 5, .again = 4};
     },
     FindingKind::new_key_per_retry},
    {"most retries with the same key",
     [](ClientCase& c) {
       c.counts.runs = 100;
       c.counts.refused = {.failed = 20, .again = 3};
       c.counts.cut = {.failed = 5, .again = 1};
     },
     std::nullopt},
    {"another key when the answer was lost",
     [](ClientCase& c) {
       c.counts.runs = 100;
       c.counts.refused = {.failed = 20, .again = 0};
       c.counts.cut = {.failed = 5, .again = 4};
     },
     FindingKind::new_key_per_retry},
    {"everything twice",
     [](ClientCase& c) {
       c.counts.runs = 40;
       c.counts.after_success = 18;
     },
     FindingKind::new_key_per_retry, false},
    {"a webhook's deliveries under new keys",
     [](ClientCase& c) {
       c.source = DoctorNote::Source::webhook;
       c.counts.runs = 40;
       c.counts.refused = {.failed = 3, .again = 3};
     },
     FindingKind::unstable_webhook_key},
    {"two changed bodies", [](ClientCase& c) { c.counts.changed_keys = 2; }, std::nullopt},
    {"changed bodies", [](ClientCase& c) { c.counts.changed_keys = 3; }, FindingKind::body_changes},
    {"one key for everything",
     [](ClientCase& c) {
       c.counts.changed_keys = 5;
       c.counts.constant = 1;
     },
     FindingKind::constant_key},
    {"seven short keys", [](ClientCase& c) { set_shape(c.counts, KeyShape::brief, 7); }, std::nullopt},
    {"short keys", [](ClientCase& c) { set_shape(c.counts, KeyShape::brief, 8); }, FindingKind::guessable_key},
    {"some short keys",
     [](ClientCase& c) {
       set_shape(c.counts, KeyShape::brief, 8);
       set_shape(c.counts, KeyShape::opaque, 8);
     },
     std::nullopt},
    {"times", [](ClientCase& c) { set_shape(c.counts, KeyShape::clock, 50); }, FindingKind::guessable_key},
    {"numbers in no order",
     [](ClientCase& c) {
       set_shape(c.counts, KeyShape::numbered, 50);
       c.counts.numbers = {.compared = 49, .following = 24};
     },
     std::nullopt},
    {"numbers that count up",
     [](ClientCase& c) {
       set_shape(c.counts, KeyShape::numbered, 50);
       c.counts.numbers = {.compared = 49, .following = 48};
     },
     FindingKind::guessable_key},
    {"mail addresses", [](ClientCase& c) { set_shape(c.counts, KeyShape::personal, 3); }, FindingKind::personal_key},
    {"late twice",
     [](ClientCase& c) {
       c.counts.runs = 150;
       c.counts.late = 2;
     },
     FindingKind::too_late},
    {"late by chance",
     [](ClientCase& c) {
       c.counts.runs = 100'000;
       c.counts.late = 20;
     },
     std::nullopt},
    {"early",
     [](ClientCase& c) {
       c.counts.told_to_wait = 5;
       c.counts.early = 3;
     },
     FindingKind::ignores_retry_after},
    {"early now and then",
     [](ClientCase& c) {
       c.counts.told_to_wait = 50;
       c.counts.early = 3;
     },
     std::nullopt},
    {"gone", [](ClientCase& c) { c.counts.told_to_wait = c.counts.given_up = 6; }, FindingKind::gives_up},
};
// Each row is a client, and the only thing that is to be found about it, if any.
TEST(DoctorRules, SpeakOnlyWhenThereIsEnough) {
  for (const Patient& each : patients) {
    ClientCase client;
    client.route = "/v1/payments";
    each.set(client);
    const std::vector<Finding> found = judge(client);
    ASSERT_EQ(found.size(), each.found ? 1U : 0U) << each.what;
    if (!each.found) continue;
    EXPECT_EQ(found.front().kind, *each.found) << each.what;
    EXPECT_EQ(found.front().strong, each.strong) << each.what;
    EXPECT_EQ(found.front().route, "/v1/payments");
    EXPECT_FALSE(found.front().evidence.empty());
    EXPECT_FALSE(advice_for(found.front().kind).empty());
  }
}

// The members that differ nearly every time are named, as the configuration would name them.
TEST(DoctorRules, NameTheMembersThatChange) {
  ClientCase client;
  client.counts.changed_keys = 10;
  client.members = {{"sent_at", 10}, {"a/b", 9}, {"amount", 1}};
  const std::vector<Finding> found = judge(client);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().remedy(), R"(ignore = ["/a~1b", "/sent_at"])");
  client.members.clear();
  EXPECT_EQ(judge(client).front().remedy(), "");
}

Finding some_finding() {
  return {.kind = FindingKind::body_changes,
          .strong = true,
          .route = "/v1/payments",
          .scope = "0123456789ab",
          .evidence = "3 keys",
          .members = {"sent_at", "nonce"},
          .count = 3,
          .first = Time{1h},
          .last = Time{2h}};
}

// A finding is read back as it was written; damage is noticed or harmless.
TEST(Finding, SurvivesBeingWrittenDown) {
  const Finding finding = some_finding();
  const std::string bytes = encode(finding);
  const std::optional<Finding> read = decode_finding(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(encode(*read), bytes);
  EXPECT_EQ(read->members, finding.members);
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decode_finding(bytes.substr(0, size)));
  EXPECT_FALSE(decode_finding(bytes + "x"));
}

// Of several hours one finding is left, with the newest words and the whole span; other clients stay apart.
TEST(Finding, OfSeveralHoursBecomesOne) {
  Finding later = some_finding();
  later.first = Time{90min};
  later.last = Time{5h};
  later.evidence = "9 keys";
  later.count = 9;
  Finding other = some_finding();
  other.scope = "ffffffffffff";
  const std::vector<Finding> all = merged({some_finding(), later, other, some_finding()});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all.front().evidence, "9 keys");
  EXPECT_EQ(all.front().first, Time{1h});
  EXPECT_EQ(all.front().last, Time{5h});
  EXPECT_EQ(all.front().count, 9U);
}

// Keys that were added are always known, for at least as many keys as a generation holds; others hardly ever.
TEST(LateKeys, RemembersAGenerationAndMistakesFew) {
  LateKeys keys;
  constexpr std::uint64_t count = LateKeys::keys_max + 100'000;
  for (std::uint64_t i = 0; i < count; ++i) keys.seen_before(i * 0x9e37'79b9'7f4a'7c15ULL);
  std::uint64_t known = 0;
  for (std::uint64_t i = count - 100'000; i < count; ++i) {
    known += keys.seen_before(i * 0x9e37'79b9'7f4a'7c15ULL) ? 1U : 0U;
  }
  EXPECT_GE(known, 99'990U);
  std::uint64_t mistaken = 0;
  for (std::uint64_t i = 0; i < 50'000; ++i) {
    mistaken += keys.seen_before((i + (count * 2)) * 0x9e37'79b9'7f4a'7c15ULL) ? 1U : 0U;
  }
  EXPECT_LE(mistaken, 40U);
}

}  // namespace
}  // namespace semel::telemetry
