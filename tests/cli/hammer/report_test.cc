// What a hammer run prints, for people and for machines.
#include "cli/hammer/report.h"

#include <chrono>
#include <string>

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include "core/sha256.h"

namespace semel::cli {
namespace {

struct Example {
  HammerOptions options;
  Tally tally{2, 2};

  Example() {
    options.url = "http://127.0.0.1:8080/v1/payments";
    options.keys = 2;
    options.calls = 2;
    options.connections = 4;
    options.patience = Millis{30'000};
    answer(0, false);
    answer(0, true);
    answer(1, false);
  }

  void answer(std::size_t key, bool replayed, std::uint16_t status = 201) {
    tally.answered(key, Letter::same, {.status = status, .replayed = replayed, .body = core::sha256("paid")});
  }

  [[nodiscard]] HammerReport report(std::optional<Effects> effects = std::nullopt) const {
    return {.options = options,
            .tally = tally,
            .latency = {.p50 = 1.5, .p90 = 2, .p99 = 3, .max = 40},
            .effects = effects,
            .broken = judge(tally, effects),
            .took = std::chrono::milliseconds(2'000),
            .end = tally.all_ended() ? RunEnd::complete : RunEnd::out_of_patience,
            .key_text = [](std::size_t key) { return "hammer-\"x\"-" + std::to_string(key); }};
  }
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Goal: a run that held says so, with the figures.
TEST(HammerReport, SaysThatThePromisesHeld) {
  Example run;
  run.answer(1, true);
  const std::string text = report_text(run.report(Effects{.before = 5, .after = 7}));
  EXPECT_TRUE(has(text, "HELD\n")) << text;
  EXPECT_TRUE(has(text, "None of 2 keys ran twice.")) << text;
  EXPECT_TRUE(has(text, "The API acted 2 times for 2 keys.")) << text;
  EXPECT_TRUE(has(text, "4 requests sent (2/s)")) << text;
  EXPECT_TRUE(has(text, "p50 1.50")) << text;
  EXPECT_TRUE(has(text, "5 before, 7 after: 2 for 2 keys")) << text;
  EXPECT_FALSE(has(text, "BROKEN")) << text;
}

// Goal: a run that did not hold names the promise, says how many keys broke it, and shows some of them.
TEST(HammerReport, SaysWhichPromiseBroke) {
  Example run;
  run.answer(1, false);
  const std::string text = report_text(run.report());
  EXPECT_TRUE(has(text, "BROKEN\n  ran-once: 1 key ran more than once")) << text;
  EXPECT_TRUE(has(text, "keys: hammer-\"x\"-1\n")) << text;
  EXPECT_FALSE(has(text, "HELD")) << text;
}

// Goal: a run that was given up is never reported as held.
TEST(HammerReport, DoesNotHoldWhenGivenUp) {
  const Example run;
  const HammerReport report = run.report();
  EXPECT_FALSE(report.held());
  const std::string text = report_text(report);
  EXPECT_TRUE(has(text, "No request got its final answer for 30 s")) << text;
  EXPECT_TRUE(has(text, "all-ended: 1 key")) << text;
}

// Goal: a run against the wrong path proves nothing, and the words say so; some errors among successes are mentioned.
TEST(HammerReport, MentionsThatTheAnswersWereErrors) {
  Example run;
  run.tally = Tally(2, 2);
  for (const std::size_t key : {0UL, 1UL}) {
    run.answer(key, false, 404);
    run.answer(key, true, 404);
  }
  const std::string nothing = report_text(run.report());
  EXPECT_TRUE(has(nothing, "2 keys never got through (answered 404), so nothing is proven for them")) << nothing;
  run.tally = Tally(2, 2);
  for (const std::size_t key : {0UL, 1UL}) {
    run.answer(key, false, key == 0 ? 404 : 201);
    run.answer(key, true, key == 0 ? 404 : 201);
  }
  const std::string some = report_text(run.report());
  EXPECT_TRUE(has(some, "But 1 of the keys were answered with an error, such as 404")) << some;
}

// Goal: no line is wider than a terminal.
TEST(HammerReport, FitsATerminal) {
  Example run;
  run.answer(1, false);
  run.options.wrong_percent = 10;
  const std::string text = report_text(run.report(Effects{.before = 1'000'000, .after = 1'025'000}));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    EXPECT_LE(end - at, 80U) << text.substr(at, end - at);
    at = end + 1;
  }
}

// Goal: machines get valid JSON with everything in it, whatever a key is called.
TEST(HammerReport, GivesJson) {
  Example run;
  run.answer(1, false);
  const auto json = boost::json::parse(report_json(run.report(Effects{.before = 0, .after = 3}))).as_object();
  EXPECT_FALSE(json.at("held").as_bool());
  EXPECT_EQ(json.at("counts").at("first_runs").as_int64(), 3);
  EXPECT_EQ(json.at("effects").at("after").as_int64(), 3);
  EXPECT_DOUBLE_EQ(json.at("latency_ms").at("p50").as_double(), 1.5);
  ASSERT_EQ(json.at("broken").as_array().size(), 2U);
  EXPECT_EQ(json.at("broken").at(0).at("promise").as_string(), "ran-once");
  EXPECT_EQ(json.at("broken").at(0).at("keys").at(0).as_string(), "hammer-\"x\"-1");
}

}  // namespace
}  // namespace semel::cli
