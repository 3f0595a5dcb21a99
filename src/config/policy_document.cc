// The verdicts on statuses are asked for one by one, so that the document says what really happens.
#include "config/policy_document.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "config/config.h"
#include "core/json/writer.h"
#include "policy/expression.h"
#include "policy/keep.h"
#include "policy/reply.h"
#include "policy/route.h"
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/http_request.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/problem.h>

namespace semel::config {
namespace {

using core::json::JsonWriter;

constexpr std::string_view draft = "https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header";
constexpr std::uint16_t first_status = 200;
constexpr std::uint16_t last_status = 599;

std::uint64_t seconds(Millis time) {
  return static_cast<std::uint64_t>(time.count()) / 1'000;
}

// The statuses that end an attempt with `verdict`, as "200-299".
void write_statuses(JsonWriter& json, const policy::KeepRules& rules, Verdict verdict) {
  const auto is = [&](std::uint16_t status) { return policy::judge(status, {}, rules).verdict == verdict; };
  json.begin_array();
  for (std::uint16_t status = first_status; status <= last_status; ++status) {
    if (!is(status)) continue;
    const std::uint16_t from = status;
    while (status < last_status && is(static_cast<std::uint16_t>(status + 1))) ++status;
    json.text(from == status ? fmt::format("{}", from) : fmt::format("{}-{}", from, status));
  }
  json.end_array();
}

void write_key_rules(JsonWriter& json, const policy::Route& route) {
  json.name("key").begin_object().boolean("required", route.key == KeyMode::required);
  if (route.key_from.is_single(policy::PartKind::header)) {
    json.text("header", route.key_from.parts.front().text);
    json.text("syntax", "a quoted string (RFC 8941) or the same text as a bare token, on one line, printable ASCII");
  } else {
    json.text("syntax", "made from the request itself");
  }
  json.number("bytes_max", key_text_bytes_max).end_object();
}

std::string_view advice(Policy::OnUnknown on_unknown) {
  return on_unknown == Policy::OnUnknown::hold ? "never" : "same-key";
}

void write_route(JsonWriter& json, const policy::Route& route) {
  const Policy& policy = route.target.policy;
  json.begin_object().text("path", route.path.text).name("methods").begin_array();
  for (const std::string& method : route.methods) json.text(method);
  json.end_array().boolean("enforced", route.mode == policy::Mode::enforce);
  write_key_rules(json, route);
  json.boolean("keys_per_caller", !route.scope.parts.empty()).number("ttl_seconds", seconds(policy.ttl));
  json.text("same_request", route.fingerprint == BodyForm::json
                                ? "method, target and JSON body; order of members and white space do not matter"
                                : "method, target and body, byte by byte");
  const bool waits = policy.in_flight == Policy::InFlight::wait;
  json.name("while_running").begin_object().text("answer", waits ? "wait" : "conflict");
  if (waits) json.number("wait_max_seconds", seconds(policy.wait_max));
  json.end_object().name("outcome_unknown").begin_object().text("retry", advice(policy.on_unknown)).end_object();
  json.name("kept").begin_object().name("statuses");
  write_statuses(json, route.target.keep, Verdict::keep);
  json.name("released_statuses");
  write_statuses(json, route.target.keep, Verdict::release);
  json.name("unknown_statuses");
  write_statuses(json, route.target.keep, Verdict::unknown);
  json.number("body_bytes_max", route.target.store_body_max).end_object().end_object();
}

// What a sender of a guarded request may be told.
bool is_for_senders(ProblemType type) {
  return type != ProblemType::signature_invalid && type != ProblemType::no_route && type != ProblemType::misdirected;
}

void write_problem(JsonWriter& json, ProblemType type, const policy::ReplyConfig& reply) {
  const Problem problem = Problem::of(type);
  const auto rule = std::ranges::find(reply.statuses, type, &policy::StatusRule::type);
  json.begin_object().text("type", reply.problem_base + std::string(problem.slug()));
  json.number("status", rule == reply.statuses.end() ? problem.status : rule->status);
  if (type != ProblemType::outcome_unknown) json.text("retry", Problem::name(problem.retry));
  json.text("title", problem.title()).end_object();
}

}  // namespace

std::string policy_document(const Config& config) {
  std::string text;
  JsonWriter json(text);
  json.begin_object().text("specification", draft);
  if (!config.reply.docs_url.empty()) json.text("documentation", config.reply.docs_url);
  json.text("replayed_header", config.reply.replayed_header).text("expires_header", "Idempotency-Expires");
  json.name("routes").begin_array();
  for (const policy::Route& route : config.routes) {
    if (route.key != KeyMode::off) write_route(json, route);
  }
  json.end_array().name("problems").begin_array();
  for (std::size_t i = 0; i <= static_cast<std::size_t>(ProblemType::misdirected); ++i) {
    const auto type = static_cast<ProblemType>(i);
    if (is_for_senders(type)) write_problem(json, type, config.reply);
  }
  json.end_array().end_object();
  return text;
}

}  // namespace semel::config
