// What is kept of an answer, and whether one is.
#include "policy/keep.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "policy/fields.h"

namespace semel::policy {
namespace {

using Views = std::vector<FieldView>;
using Fields = std::vector<Field>;

KeepRules rules(const std::vector<std::pair<std::string_view, Verdict>>& from) {
  KeepRules made;
  for (const auto& [statuses, verdict] : from) EXPECT_TRUE(made.set(statuses, verdict)) << statuses;
  return made;
}

// The contract's table, every status of it.
TEST(Judge, FollowsTheTable) {
  for (std::uint16_t status = 0; status < 700; ++status) {
    Verdict expected = Verdict::unknown;
    if (status >= 200 && status < 500) expected = Verdict::keep;
    for (const int released : {401, 403, 408, 409, 425, 429, 500, 501, 503}) {
      if (status == released) expected = Verdict::release;
    }
    EXPECT_EQ(judge(status, {}, {}).verdict, expected) << status;
  }
}

// A route's rule for a status comes before its rule for the class, and both before the table.
TEST(Judge, LetsARouteDecideByStatus) {
  const KeepRules own = rules({{"5xx", Verdict::release}, {"502", Verdict::keep}, {"404", Verdict::release}});
  EXPECT_EQ(judge(502, {}, own).verdict, Verdict::keep);
  EXPECT_EQ(judge(504, {}, own).verdict, Verdict::release);
  EXPECT_EQ(judge(404, {}, own).verdict, Verdict::release);
  EXPECT_EQ(judge(400, {}, own).verdict, Verdict::keep);
  EXPECT_EQ(judge(99, {}, own).verdict, Verdict::unknown);
}

// The upstream's own word comes first, but cannot make an interim answer a final one.
TEST(Judge, LetsTheUpstreamDecidePerAnswer) {
  const auto said = [](std::uint16_t status, std::string_view word) {
    const Views fields{{.name = "semel-outcome", .value = word}};
    return judge(status, fields, rules({{"200", Verdict::release}}));
  };
  EXPECT_EQ(said(500, "store").verdict, Verdict::keep);
  EXPECT_EQ(said(200, " unknown ").verdict, Verdict::unknown);
  EXPECT_EQ(said(201, "release").verdict, Verdict::release);
  EXPECT_EQ(said(101, "store").verdict, Verdict::unknown);
  EXPECT_FALSE(said(500, "store").bad_outcome_field);
}

// A word that is not known, or said twice, is ignored and told.
TEST(Judge, IgnoresABadOutcomeField) {
  for (const Views& fields :
       {Views{{.name = "Semel-Outcome", .value = "Store"}}, Views{{.name = "Semel-Outcome", .value = ""}},
        Views{{.name = "Semel-Outcome", .value = "store"}, {.name = "Semel-Outcome", .value = "store"}}}) {
    const Judgement judgement = judge(500, fields, {});
    EXPECT_EQ(judgement.verdict, Verdict::release);
    EXPECT_TRUE(judgement.bad_outcome_field);
  }
}

// What a probe's answer says about the attempt.
TEST(JudgeProbe, ReadsTheAnswerOfAProbe) {
  EXPECT_EQ(judge_probe(200, {}).verdict, Verdict::keep);
  EXPECT_EQ(judge_probe(404, {}).verdict, Verdict::release);
  EXPECT_EQ(judge_probe(410, {}).verdict, Verdict::release);
  for (const auto status : std::vector<std::uint16_t>{301, 400, 401, 429, 500, 503}) {
    EXPECT_EQ(judge_probe(status, {}).verdict, Verdict::unknown) << status;
  }
  const Views says{{.name = "Semel-Outcome", .value = "release"}};
  EXPECT_EQ(judge_probe(200, says).verdict, Verdict::release);
}

const KeepTerms terms{.store_body_max = 10, .replay_fields = {}, .replayed_header = "Idempotent-Replayed"};

// Only what means the same to a later caller is kept.
TEST(ToKeep, LeavesOutWhatDoesNotBelongToAReplay) {
  const Views fields{{"Content-Type", "text/plain"},
                     {"Set-Cookie", "a=1"},
                     {"Date", "now"},
                     {"WWW-Authenticate", "Basic"},
                     {"Authentication-Info", "x"},
                     {"Connection", "close, X-Hop"},
                     {"X-Hop", "1"},
                     {"Keep-Alive", "timeout=5"},
                     {"Transfer-Encoding", "chunked"},
                     {"Content-Length", "5"},
                     {"Semel-Outcome", "store"},
                     {"idempotent-replayed", "true"},
                     {"Idempotency-Expires", "x"},
                     {"Location", "/v1/7"},
                     {"X-Two", "1"},
                     {"X-Two", "2"},
                     {"Proxy-Authenticate", "x"},
                     {"Upgrade", "h2c"}};
  const Response kept = to_keep(201, fields, "12345", terms);
  EXPECT_EQ(kept.status, 201);
  EXPECT_EQ(kept.fields,
            (Fields{{"Content-Type", "text/plain"}, {"Location", "/v1/7"}, {"X-Two", "1"}, {"X-Two", "2"}}));
  EXPECT_EQ(kept.body, "12345");
  EXPECT_TRUE(kept.body_kept);
}

// A route may list personal fields; fields of a connection stay out whatever it lists.
TEST(ToKeep, KeepsListedFields) {
  const std::vector<std::string> listed{"set-cookie", "Connection"};
  const KeepTerms own{.store_body_max = 10, .replay_fields = listed, .replayed_header = "R"};
  const Views fields{{"Set-Cookie", "a=1"}, {"Set-Cookie", "b=2"}, {"Date", "now"}, {"Connection", "close"}};
  EXPECT_EQ(to_keep(200, fields, "", own).fields, (Fields{{"Set-Cookie", "a=1"}, {"Set-Cookie", "b=2"}}));
}

// A body over the limit leaves a tombstone; one at the limit does not.
TEST(ToKeep, MakesATombstoneOfALargeBody) {
  const Views fields{{"Content-Type", "text/plain"}, {"location", "/v1/7"}, {"ETag", "x"}};
  EXPECT_TRUE(to_keep(201, fields, std::string(10, 'a'), terms).body_kept);
  const Response stone = to_keep(201, fields, std::string(11, 'a'), terms);
  EXPECT_EQ(stone, (Response{.status = 201, .fields = {{"location", "/v1/7"}}, .body = "", .body_kept = false}));
}

// A field that could not be written again is not kept.
TEST(ToKeep, LeavesOutWhatCouldSplitAMessage) {
  const Views fields{
      {"X", "a\r\nY: b"}, {"X\n", "a"}, {"Z", std::string_view("a\0b", 3)}, {"", "a"}, {"Ok", "a\tb \xe9"}};
  EXPECT_EQ(to_keep(200, fields, "", terms).fields, (Fields{{"Ok", "a\tb \xe9"}}));
}

// The first caller gets personal fields too, but nothing of the connection and nothing that is ours to say.
TEST(ToClient, PassesOnWhatIsForTheCaller) {
  const Views fields{{"Set-Cookie", "a=1"},  {"Date", "now"},          {"Connection", "X-Hop"},
                     {"X-Hop", "1"},         {"Semel-Outcome", "bad"}, {"Idempotent-Replayed", "true"},
                     {"Content-Length", "5"}};
  Fields passed;
  to_client(fields, "Idempotent-Replayed", [&](std::string_view name, std::string_view value) {
    passed.push_back({.name = std::string(name), .value = std::string(value)});
  });
  EXPECT_EQ(passed, (Fields{{"Set-Cookie", "a=1"}, {"Date", "now"}}));
}

// What comes back from a disk is input: anything that would write another message is refused.
TEST(CheckStored, RefusesWhatCannotBeWritten) {
  EXPECT_TRUE(check_stored({.status = 201, .fields = {{"Location", "/a"}}, .body = "x"}));
  const std::vector<Response> bad{{.status = 100, .fields = {}, .body = ""},
                                  {.status = 600, .fields = {}, .body = ""},
                                  {.status = 200, .fields = {{"A B", "x"}}, .body = ""},
                                  {.status = 200, .fields = {{"", "x"}}, .body = ""},
                                  {.status = 200, .fields = {{"A", "x\r\nB: y"}}, .body = ""},
                                  {.status = 200, .fields = {{"A", " x"}}, .body = ""},
                                  {.status = 200, .fields = {{"Content-Length", "5"}}, .body = ""},
                                  {.status = 200, .fields = {{"transfer-encoding", "chunked"}}, .body = ""},
                                  {.status = 200, .fields = {}, .body = "x", .body_kept = false}};
  for (const Response& response : bad) {
    const auto checked = check_stored(response);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, Code::corrupt);
  }
}

// Connection may name several fields, on several lines.
TEST(Fields, NamesWhatConnectionNames) {
  const Views fields{{"Connection", "close , X-A,,"}, {"connection", "x-b"}};
  EXPECT_EQ(named_by_connection(fields), (ConnectionNames{"close", "X-A", "x-b"}));
}

}  // namespace
}  // namespace semel::policy
