// The answers of Semel itself: refusals as RFC 9457 problems, and the marks on answers.
//
// Replies are Responses without framing: their writer adds Content-Length (none to a 204).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <semel/clock.h>
#include <semel/problem.h>
#include <semel/response.h>
#include <semel/result.h>

namespace semel::policy {

// A problem that clients of an API expect with another status than the usual one.
struct StatusRule {
  ProblemType type = ProblemType::in_flight;
  std::uint16_t status = 0;

  friend bool operator==(const StatusRule&, const StatusRule&) = default;
};

struct ReplyConfig {
  std::string problem_base = "urn:semel:problem:";
  std::string replayed_header = "Idempotent-Replayed";
  std::string docs_url = "https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header";
  std::vector<StatusRule> statuses{};
  bool error_member = false;  // for clients that recognise a failure by a member `error`, not by its status
};

// `what` replaces the usual detail where something more exact is known; it must not hold a key, a body or a secret.
Response problem_reply(const Problem& problem, Millis retry_after, const ReplyConfig& config,
                       std::string_view what = {});

// For failures before any rule applies (a bad target, too many fields): type about:blank, the status's own title.
Response plain_reply(std::uint16_t status, std::string_view detail, Problem::Retry retry = Problem::Retry::never);

// The stored answer, marked. A tombstone gets a body that says that its own was not kept.
// Code::corrupt: see check_stored().
Result<Response> replay_reply(const Response& stored, Time expires_at, const ReplyConfig& config);

// What comes behind the fields of the stored answer, which is shared by all who get it. Its body is the stored one's if
// that was kept.
Result<Response> replay_marks(const Response& stored, Time expires_at, const ReplyConfig& config);

// The field that is added to the first answer of a kept key. A released key does not expire, so its answer has none.
Field expires_mark(Time expires_at);

std::string rfc3339(Time time);  // UTC, whole seconds

std::string_view reason_phrase(std::uint16_t status);

}  // namespace semel::policy
