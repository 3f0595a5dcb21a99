// POST /v1/webhooks/reopen?path=/webhooks/stripe: lets an event that was processed, or whose outcome nobody knows, run
// again when its provider next sends it.
//
// The event is named as its provider names it: the request is a delivery of it, or as much of one as has its id. It
// needs no signature but the operator's token; without a token in the configuration nobody may do this, since any page
// in a browser on this machine could.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "admin/admin.h"
#include "config/config.h"
#include "config/match.h"
#include "gateway/plan.h"
#include "gateway/worker.h"
#include "http/failure.h"
#include "http/transaction.h"
#include "policy/expression.h"
#include "policy/identify.h"
#include "policy/request_view.h"
#include "webhook/event.h"
#include <semel/async.h>
#include <semel/key.h>
#include <semel/reopening.h>
#include <semel/result.h>

namespace semel::admin {
namespace {

constexpr std::string_view json_type = "application/json";

// The event as if it had come to the webhook at `path`; nothing if that is no webhook, or the event has no name.
std::optional<Key> key_at(const config::Config& config, policy::RequestView request, const std::string& path) {
  const config::Match matched = config::match(config, "POST", path);
  const auto* call = std::get_if<config::WebhookCall>(&matched);
  if (call == nullptr) return std::nullopt;
  const webhook::Webhook& webhook = *call->webhook;
  policy::set_target(request, path);
  const webhook::EventPlace place{.space = webhook.space,
                                  .key_from = webhook.event_key ? &*webhook.event_key : nullptr,
                                  .ordered = webhook.ordered};
  policy::Identified identified = webhook::identify_event(webhook.rules, place, true, request);
  auto* identity = std::get_if<policy::Identity>(&identified);
  return identity == nullptr ? std::nullopt : std::optional(std::move(identity->key));
}

}  // namespace

Task<Admin::Reply> Admin::reopen(http::Transaction* client) {
  const auto say = [](std::uint16_t status, std::string_view body) {
    return Reply{.status = status, .type = std::string(json_type), .body = std::string(body)};
  };
  if (token_.empty()) co_return say(403, R"({"error":"needs a token: set token in [admin]"})");
  if (!may_read(client->head())) co_return say(401, R"({"error":"send Authorization: Bearer TOKEN"})");
  const std::shared_ptr<const gateway::Plan> plan = worker_.plan();
  const http::Try<std::string> body = co_await client->read_whole_body(plan->config->limits.body_bytes);
  if (!body) {
    client->close_after();
    co_return say(400, R"({"error":"the body cannot be read"})");
  }
  policy::RequestView request;
  request.method = "POST";
  request.fields = client->head().fields();
  request.body = *body;
  policy::set_target(request, client->head().target());
  const auto path = policy::evaluate(policy::expression("{query:path}"), request);
  const std::optional<Key> key = path ? key_at(*plan->config, request, *path) : std::nullopt;
  if (!key) co_return say(400, R"({"error":"no webhook at ?path=, or the event in the body has no id"})");
  if (reopening_ == nullptr) co_return say(501, R"({"error":"this store cannot do that"})");
  const Result<bool> reopened = co_await reopening_->reopen(*key);
  if (!reopened) co_return say(503, R"({"error":"the store does not answer"})");
  if (!*reopened) co_return say(404, R"({"error":"no such event has ended"})");
  co_return say(200, R"({"reopened":true})");
}

}  // namespace semel::admin
