// Problems and marks.
#include "policy/reply.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/json/writer.h"
#include "policy/fields.h"
#include "policy/keep.h"
#include <semel/clock.h>
#include <semel/problem.h>
#include <semel/response.h>
#include <semel/result.h>

namespace semel::policy {
namespace {

using Phrase = std::pair<std::uint16_t, std::string_view>;
constexpr std::array phrases{Phrase{200, "OK"},
                             Phrase{201, "Created"},
                             Phrase{202, "Accepted"},
                             Phrase{204, "No Content"},
                             Phrase{400, "Bad Request"},
                             Phrase{401, "Unauthorized"},
                             Phrase{403, "Forbidden"},
                             Phrase{404, "Not Found"},
                             Phrase{405, "Method Not Allowed"},
                             Phrase{408, "Request Timeout"},
                             Phrase{409, "Conflict"},
                             Phrase{411, "Length Required"},
                             Phrase{413, "Content Too Large"},
                             Phrase{414, "URI Too Long"},
                             Phrase{415, "Unsupported Media Type"},
                             Phrase{417, "Expectation Failed"},
                             Phrase{421, "Misdirected Request"},
                             Phrase{422, "Unprocessable Content"},
                             Phrase{429, "Too Many Requests"},
                             Phrase{431, "Request Header Fields Too Large"},
                             Phrase{500, "Internal Server Error"},
                             Phrase{501, "Not Implemented"},
                             Phrase{502, "Bad Gateway"},
                             Phrase{503, "Service Unavailable"},
                             Phrase{504, "Gateway Timeout"},
                             Phrase{505, "HTTP Version Not Supported"}};

constexpr std::size_t marks_usual = 2;
constexpr std::string_view body_not_kept =
    "The request with this key ran once and was answered with this status. The body of that answer was too large to "
    "keep, so it is gone; ask for what it described instead of sending the request again.";

Field content_type() {
  return {.name = "Content-Type", .value = "application/problem+json"};
}

struct ProblemText {
  std::string_view type = "about:blank";
  std::string_view title;
  std::uint16_t status = 0;
  std::string_view detail;
  Problem::Retry retry = Problem::Retry::never;
  std::string_view error_code = {};  // not empty: there is a member `error`
};

std::string problem_body(const ProblemText& problem) {
  std::string body;
  core::json::JsonWriter json(body);
  json.begin_object()
      .text("type", problem.type)
      .text("title", problem.title)
      .number("status", problem.status)
      .text("detail", problem.detail)
      .text("retry", Problem::name(problem.retry));
  if (!problem.error_code.empty()) {
    // An extension of the problem (RFC 9457 §3.2), in the form that Stripe's clients read.
    json.name("error")
        .begin_object()
        .text("type", "idempotency_error")
        .text("code", problem.error_code)
        .text("message", problem.detail)
        .end_object();
  }
  json.end_object();
  body += '\n';  // for those who look at it in a terminal
  return body;
}

// The body of a problem that has a type of its own.
std::string own_problem_body(ProblemText problem, std::string_view slug, const ReplyConfig& config) {
  const std::string type = config.problem_base + std::string(slug);
  problem.type = type;
  if (config.error_member) problem.error_code = slug;
  return problem_body(problem);
}

// Only the usual status gives way: the caller whose own attempt was lost is still told 502 or 504.
std::uint16_t status_of(const Problem& problem, const ReplyConfig& config) {
  if (config.statuses.empty() || problem.status != Problem::of(problem.type).status) return problem.status;
  const auto rule = std::ranges::find(config.statuses, problem.type, &StatusRule::type);
  return rule == config.statuses.end() ? problem.status : rule->status;
}

// Whether the contract promises a Retry-After with this problem.
bool says_when(const Problem& problem) {
  if (problem.retry != Problem::Retry::same_key) return false;
  switch (problem.type) {
    case ProblemType::in_flight:
    case ProblemType::outcome_unknown:
    case ProblemType::rate_limited:
    case ProblemType::quota_exceeded:
    case ProblemType::store_unavailable:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string_view reason_phrase(std::uint16_t status) {
  const auto* const found = std::ranges::find(phrases, status, &Phrase::first);
  return found == phrases.end() ? std::string_view("Other") : found->second;
}

Response problem_reply(const Problem& problem, Millis retry_after, const ReplyConfig& config, std::string_view what) {
  const std::uint16_t status = status_of(problem, config);
  Response reply{.status = status, .fields = {content_type()}, .body = {}};
  if (retry_after > Millis{0} || says_when(problem)) {
    const auto seconds = std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(retry_after).count());
    reply.fields.push_back({.name = "Retry-After", .value = std::to_string(seconds)});
  }
  if (problem.type == ProblemType::key_missing && !config.docs_url.empty()) {
    reply.fields.push_back(
        {.name = "Link", .value = fmt::format("<{}>; rel=\"describedby\"; type=\"text/html\"", config.docs_url)});
  }
  reply.body = own_problem_body({.title = problem.title(),
                                 .status = status,
                                 .detail = what.empty() ? problem.detail() : what,
                                 .retry = problem.retry},
                                problem.slug(), config);
  return reply;
}

Response plain_reply(std::uint16_t status, std::string_view detail, Problem::Retry retry) {
  return {
      .status = status,
      .fields = {content_type()},
      .body = problem_body(
          {.type = "about:blank", .title = reason_phrase(status), .status = status, .detail = detail, .retry = retry})};
}

Result<Response> replay_marks(const Response& stored, Time expires_at, const ReplyConfig& config) {
  if (const auto sound = check_stored(stored); !sound) return std::unexpected(sound.error());
  Response reply{.status = stored.status, .fields = {}, .body = {}};
  reply.fields.reserve(marks_usual);
  reply.fields.push_back({.name = config.replayed_header, .value = "true"});
  reply.fields.push_back(expires_mark(expires_at));
  if (stored.body_kept) return reply;
  reply.fields.push_back(content_type());
  reply.body = own_problem_body({.title = "Answer too large to keep", .status = stored.status, .detail = body_not_kept},
                                "body-not-kept", config);
  return reply;
}

Result<Response> replay_reply(const Response& stored, Time expires_at, const ReplyConfig& config) {
  Result<Response> reply = replay_marks(stored, expires_at, config);
  if (!reply) return reply;
  reply->fields.insert(reply->fields.begin(), stored.fields.begin(), stored.fields.end());
  if (stored.body_kept) reply->body = stored.body;
  return reply;
}

Field expires_mark(Time expires_at) {
  return {.name = std::string(expires_field), .value = rfc3339(expires_at)};
}

std::string rfc3339(Time time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time - day));
  std::string text = "0000-00-00T00:00:00Z";
  const auto put = [&text](std::size_t end, std::int64_t value) {
    for (; value > 0; value /= 10) text[end--] = static_cast<char>('0' + value % 10);
  };
  put(3, static_cast<int>(date.year()));
  put(6, static_cast<unsigned>(date.month()));
  put(9, static_cast<unsigned>(date.day()));
  put(12, clock.hours().count());
  put(15, clock.minutes().count());
  put(18, clock.seconds().count());
  return text;
}

}  // namespace semel::policy
