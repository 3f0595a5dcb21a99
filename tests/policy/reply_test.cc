// Replies byte by byte: problems, replays, tombstones, times.
#include "policy/reply.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/json/canonical.h"
#include "policy/json_scalar.h"

namespace semel::policy {
namespace {

using enum ProblemType;

std::string member(const Response& reply, const std::string& name) {
  const std::vector<std::string> pointer{name};
  return json_scalar(reply.body, pointer).value_or("(none)");
}

std::string field(const Response& reply, std::string_view name) {
  for (const Field& each : reply.fields) {
    if (each.name == name) return each.value;
  }
  return "(none)";
}

// A problem is RFC 9457 with our extension member, and its status is the reply's.
TEST(ProblemReply, IsAProblemDocument) {
  const Response reply = problem_reply(Problem::of(key_reused), Millis{0}, {});
  EXPECT_EQ(reply.status, 422);
  EXPECT_EQ(field(reply, "Content-Type"), "application/problem+json");
  EXPECT_EQ(member(reply, "type"), "urn:semel:problem:key-reused");
  EXPECT_EQ(member(reply, "title"), Problem::of(key_reused).title());
  EXPECT_EQ(member(reply, "status"), "422");
  EXPECT_EQ(member(reply, "detail"), Problem::of(key_reused).detail());
  EXPECT_EQ(member(reply, "retry"), "new-key");
}

struct Row {
  ProblemType type;
  std::uint16_t status;
  std::string_view retry;
  bool says_when;
};

// The contract's table: status, advice, and who gets a Retry-After even if nobody knows how long it takes.
TEST(ProblemReply, FollowsTheContract) {
  const std::vector<Row> rows{{key_missing, 400, "new-key", false},
                              {key_invalid, 400, "new-key", false},
                              {scope_missing, 401, "never", false},
                              {signature_invalid, 401, "never", false},
                              {in_flight, 409, "same-key", true},
                              {outcome_unknown, 409, "never", false},
                              {body_too_large, 413, "never", false},
                              {key_reused, 422, "new-key", false},
                              {rate_limited, 429, "same-key", true},
                              {quota_exceeded, 429, "same-key", true},
                              {upstream_unreachable, 502, "same-key", false},
                              {store_unavailable, 503, "same-key", true},
                              {no_route, 404, "never", false},
                              {misdirected, 421, "never", false}};
  for (const Row& row : rows) {
    const Response reply = problem_reply(Problem::of(row.type), Millis{0}, {});
    EXPECT_EQ(reply.status, row.status) << Problem::of(row.type).slug();
    EXPECT_EQ(member(reply, "retry"), row.retry) << Problem::of(row.type).slug();
    EXPECT_EQ(field(reply, "Retry-After") != "(none)", row.says_when) << Problem::of(row.type).slug();
    EXPECT_EQ(field(reply, "Link") != "(none)", row.type == key_missing) << Problem::of(row.type).slug();
    EXPECT_TRUE(core::json::canonical_json(reply.body)) << Problem::of(row.type).slug();
  }
  const Problem retried{.type = outcome_unknown, .status = 502, .retry = Problem::Retry::same_key};
  EXPECT_EQ(field(problem_reply(retried, Millis{0}, {}), "Retry-After"), "1");
  EXPECT_EQ(problem_reply(retried, Millis{0}, {}).status, 502);
}

// Retry-After is in whole seconds, rounded up, so that nobody comes back too early.
TEST(ProblemReply, RoundsRetryAfterUp) {
  EXPECT_EQ(field(problem_reply(Problem::of(in_flight), Millis{1}, {}), "Retry-After"), "1");
  EXPECT_EQ(field(problem_reply(Problem::of(in_flight), Millis{1'000}, {}), "Retry-After"), "1");
  EXPECT_EQ(field(problem_reply(Problem::of(in_flight), Millis{1'001}, {}), "Retry-After"), "2");
  EXPECT_EQ(field(problem_reply(Problem::of(upstream_unreachable), Millis{3'000}, {}), "Retry-After"), "3");
}

// What is configurable is.
TEST(ProblemReply, UsesTheConfiguredNames) {
  const ReplyConfig own{
      .problem_base = "https://e.example/\"p/", .replayed_header = "R", .docs_url = "https://d.example/k"};
  const Response reply = problem_reply(Problem::of(key_missing), Millis{0}, own);
  EXPECT_EQ(member(reply, "type"), "https://e.example/\"p/key-missing");
  EXPECT_EQ(field(reply, "Link"), "<https://d.example/k>; rel=\"describedby\"; type=\"text/html\"");
  ReplyConfig silent;
  silent.docs_url.clear();
  EXPECT_EQ(field(problem_reply(Problem::of(key_missing), Millis{0}, silent), "Link"), "(none)");
}

// Clients that know a failure by a member `error` find one, in a problem and in the replay of a body that was not kept.
TEST(ProblemReply, HasAnErrorMemberWhereThatIsWanted) {
  ReplyConfig config;
  EXPECT_EQ(problem_reply(Problem::of(key_reused), Millis{0}, config).body.find("\"error\""), std::string::npos);
  config.error_member = true;
  const Response reply = problem_reply(Problem::of(key_reused), Millis{0}, config, "a \"quoted\" detail");
  EXPECT_EQ(member(reply, "detail"), "a \"quoted\" detail");
  EXPECT_TRUE(reply.body.ends_with(
      R"(,"error":{"type":"idempotency_error","code":"key-reused","message":"a \"quoted\" detail"}})"
      "\n"))
      << reply.body;
  const Response stored{.status = 200, .fields = {}, .body = {}, .body_kept = false};
  const auto replay = replay_reply(stored, Time{Millis{0}}, config);
  ASSERT_TRUE(replay.has_value());
  EXPECT_EQ(member(*replay, "title"), "Answer too large to keep");
  EXPECT_NE(replay->body.find(R"("error":{"type":"idempotency_error","code":"body-not-kept",)"), std::string::npos);
}

// Clients of some APIs expect another status. The caller whose own attempt was lost is told as before.
TEST(ProblemReply, HasTheStatusThatClientsExpect) {
  ReplyConfig config;
  config.statuses = {{.type = key_reused, .status = 400}, {.type = outcome_unknown, .status = 423}};
  const Response reused = problem_reply(Problem::of(key_reused), Millis{0}, config);
  EXPECT_EQ(reused.status, 400);
  EXPECT_NE(reused.body.find(R"("status":400)"), std::string::npos) << reused.body;
  EXPECT_EQ(problem_reply(Problem::of(outcome_unknown), Millis{0}, config).status, 423);
  Problem own = Problem::of(outcome_unknown);
  own.status = 502;
  EXPECT_EQ(problem_reply(own, Millis{0}, config).status, 502);
  EXPECT_EQ(problem_reply(Problem::of(in_flight), Millis{0}, config).status, 409);
}

// A more exact detail takes the place of the usual one, whatever characters it has.
TEST(ProblemReply, TakesAnExactDetail) {
  const Response reply = problem_reply(Problem::of(key_invalid), Millis{0}, {}, "a \"quoted\"\n\\detail");
  EXPECT_EQ(member(reply, "detail"), "a \"quoted\"\n\\detail");
}

// What has no type of its own says only what its status says.
TEST(PlainReply, HasNoTypeOfItsOwn) {
  const Response reply = plain_reply(431, "Over 64 KiB.");
  EXPECT_EQ(reply.status, 431);
  EXPECT_EQ(member(reply, "type"), "about:blank");
  EXPECT_EQ(member(reply, "title"), "Request Header Fields Too Large");
  EXPECT_EQ(member(reply, "detail"), "Over 64 KiB.");
  EXPECT_EQ(reason_phrase(299), "Other");
}

const Time expiry{Millis{1'767'323'045'678}};  // 2026-01-02T03:04:05.678Z

// A replay is the stored answer and two marks.
TEST(ReplayReply, MarksTheStoredAnswer) {
  const Response stored{.status = 201, .fields = {{"Location", "/v1/7"}}, .body = "{}"};
  const Response reply = replay_reply(stored, expiry, {}).value();
  EXPECT_EQ(reply.status, 201);
  EXPECT_EQ(reply.body, "{}");
  EXPECT_EQ(reply.fields, (std::vector<Field>{{"Location", "/v1/7"},
                                              {"Idempotent-Replayed", "true"},
                                              {"Idempotency-Expires", "2026-01-02T03:04:05Z"}}));
}

// A tombstone answers with its status and a body that says what became of the body.
TEST(ReplayReply, ExplainsATombstone) {
  const Response stone{.status = 201, .fields = {{"Location", "/v1/7"}}, .body = "", .body_kept = false};
  const Response reply = replay_reply(stone, expiry, {}).value();
  EXPECT_EQ(reply.status, 201);
  EXPECT_EQ(field(reply, "Location"), "/v1/7");
  EXPECT_EQ(field(reply, "Idempotent-Replayed"), "true");
  EXPECT_EQ(field(reply, "Content-Type"), "application/problem+json");
  EXPECT_EQ(member(reply, "type"), "urn:semel:problem:body-not-kept");
  EXPECT_EQ(member(reply, "status"), "201");
}

// Damage is not replayed.
TEST(ReplayReply, RefusesDamage) {
  const Response damaged{.status = 200, .fields = {{"A", "b\r\nC: d"}}, .body = ""};
  EXPECT_EQ(replay_reply(damaged, expiry, {}).error().code, Code::corrupt);
}

// Times are UTC, to the second, and correct on the days that trip calendars up.
TEST(Rfc3339, WritesUtc) {
  EXPECT_EQ(rfc3339(Time{Millis{0}}), "1970-01-01T00:00:00Z");
  EXPECT_EQ(rfc3339(Time{Millis{951'782'400'000}}), "2000-02-29T00:00:00Z");
  EXPECT_EQ(rfc3339(Time{Millis{4'107'542'399'999}}), "2100-02-28T23:59:59Z");
  EXPECT_EQ(rfc3339(Time{Millis{-1}}), "1969-12-31T23:59:59Z");
  EXPECT_EQ(expires_mark(expiry), (Field{.name = "Idempotency-Expires", .value = "2026-01-02T03:04:05Z"}));
}

}  // namespace
}  // namespace semel::policy
