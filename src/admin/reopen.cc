// POST /v1/webhooks/reopen?path=/webhooks/stripe: lets an event that was processed, or whose outcome is unknown, run
// again when its provider next sends it.
//
// The event is named as its provider names it: the request is a delivery of it, or the part that has its id. It needs
// no signature but the operator's token.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "admin/answers.h"
#include "admin/caller.h"
#include "admin/handlers.h"
#include "admin/sources.h"
#include "config/config.h"
#include "config/match.h"
#include "core/ascii.h"
#include "core/json/writer.h"
#include "policy/expression.h"
#include "policy/identify.h"
#include "policy/request_view.h"
#include "webhook/authenticate.h"
#include "webhook/event.h"
#include "webhook/opened.h"
#include "webhook/webhook.h"
#include <semel/async.h>
#include <semel/key.h>
#include <semel/reopening.h>
#include <semel/response.h>
#include <semel/result.h>

namespace semel::admin {
namespace {

// The key of the event as if it had come to the webhook at `path`. Null if there is no webhook at that path, or the
// event has no name.
std::optional<Key> key_at(const config::Config& config, policy::RequestView request, const std::string& path) {
  const config::Match matched = config::match(config, "POST", path);
  const auto* call = std::get_if<config::WebhookCall>(&matched);
  if (call == nullptr) return std::nullopt;
  const webhook::Webhook& webhook = *call->webhook;
  policy::set_target(request, path);
  // An operator may send the JSON of an event without the form around it.
  const bool form = core::equal_ignoring_case(policy::media_type_of(request), "multipart/form-data");
  if (!form) request.json_part = request.body;
  request = webhook::opened(webhook.rules, request);
  const webhook::EventPlace place{.space = webhook.space,
                                  .key_from = webhook.event_key ? &*webhook.event_key : nullptr,
                                  .ordered = webhook.ordered};
  for (std::size_t scheme = 0; scheme < webhook.rules.schemes.size(); ++scheme) {
    const std::string text =
        webhook::text_to_sign(webhook.rules.schemes[scheme], webhook.lock, request).value_or(std::string{});
    const webhook::Proof as_if{.scheme = scheme, .signed_text = text};
    policy::Identified identified = webhook::identify_event(webhook.rules, place, as_if, request);
    if (auto* identity = std::get_if<policy::Identity>(&identified)) return std::move(identity->key);
  }
  return std::nullopt;
}

}  // namespace

Task<Response> reopen(const Sources* sources, policy::RequestView request, Caller /*caller*/) {
  const std::shared_ptr<const config::Config> config = sources->config();
  const auto path = policy::evaluate(policy::expression("{query:path}"), request);
  const std::optional<Key> key = path ? key_at(*config, request, *path) : std::nullopt;
  if (!key) co_return error_answer(400, "no webhook at ?path=, or the event in the body has no id");
  if (sources->reopening == nullptr) co_return error_answer(501, "this store cannot do that");
  const Result<bool> reopened = co_await sources->reopening->reopen(*key);
  if (!reopened) {
    co_await sources->forget(*key);  // it may have been done
    co_return error_answer(503, "the store did not answer in time; ask again: 404 then means that the event is free");
  }
  if (!*reopened) co_return error_answer(404, "there is no such event, or it has not ended");
  co_await sources->forget(*key);
  std::string body;
  core::json::JsonWriter out(body);
  out.begin_object().boolean("reopened", true);
  // Until then another gateway may still answer with what it remembers, if it was not told.
  out.number("in_effect_within_ms", static_cast<std::uint64_t>(sources->forgotten_within.count())).end_object();
  co_return json_answer(200, std::move(body));
}

}  // namespace semel::admin
