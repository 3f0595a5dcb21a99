// POST /v1/keys/find: a key by what the customer sent.
//
//   {"namespace": "default", "scope": "Bearer …", "key": "…"}     the three parts of a key
//   {"route": "/v1/payments", "fields": {"Authorization": "…"}, "key": "…"}    namespace and scope follow from the
//   route
//   {"webhook": "/webhooks/stripe", "event": "evt_1"}             an event of a webhook
//   {"webhook": "/webhooks/stripe", "object": "sub_1"}            the event of the object that had its turn last
//   {"id": "a1b2c3"}                                              as a log line or a list shows it
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <boost/json/object.hpp>

#include "admin/answers.h"
#include "admin/caller.h"
#include "admin/described.h"
#include "admin/desk_request.h"
#include "admin/handlers.h"
#include "admin/key_json.h"
#include "admin/sources.h"
#include "admin/suggested.h"
#include "config/config.h"
#include "config/match.h"
#include "core/encoding.h"
#include "core/json/writer.h"
#include "policy/request_view.h"
#include "resolver/suggestion.h"
#include "store/desk.h"
#include "webhook/event.h"
#include "webhook/webhook.h"
#include <semel/async.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::admin {
namespace {

constexpr std::size_t found_max = 10;

// An event of a webhook by its own id, or by the object that it is about.
Result<Key> key_of_event(const config::Config& config, const boost::json::object& asked, const std::string& path) {
  const config::Match matched = config::match(config, "POST", path);
  const auto* call = std::get_if<config::WebhookCall>(&matched);
  if (call == nullptr) return fail(Code::invalid, "webhook: no webhook has this path");
  const webhook::Webhook& webhook = *call->webhook;
  if (const std::optional<std::string> event = text_in(asked, "event")) return make_key(webhook.space, path, *event);
  const std::optional<std::string> object = text_in(asked, "object");
  if (!object) return fail(Code::invalid, "event: the id of the event is needed, or its object");
  std::optional<Key> key = webhook::object_key(webhook.rules.event, webhook.space, path, *object);
  if (!webhook.ordered || !webhook.rules.event.order || !key) {
    return fail(Code::invalid, "object: only a webhook with ordered = true remembers the objects of its events");
  }
  return *std::move(key);
}

// The key that is asked for, by its parts.
Result<Key> key_in(const config::Config& config, const boost::json::object& asked) {
  if (asked.contains("route")) {
    Result<Described> described = describe(config, asked);
    if (!described) return std::unexpected(std::move(described.error()));
    return std::move(described->key);
  }
  if (const auto path = text_in(asked, "webhook")) return key_of_event(config, asked, *path);
  const std::optional<std::string> text = text_in(asked, "key");
  if (!text) return fail(Code::invalid, "key: one of key, event, object and id is needed");
  return make_key(text_in(asked, "namespace").value_or("default"), text_in(asked, "scope").value_or(""), *text);
}

}  // namespace

Task<Response> find_key(const Sources* sources, policy::RequestView request, Caller /*caller*/) {
  if (sources->desk == nullptr) co_return error_answer(501, "this store cannot be looked into");
  const std::optional<boost::json::object> asked = object_in(request);
  if (!asked) co_return error_answer(400, "the body must be a JSON object");
  std::string begins;
  std::string looked_for = "the key with this namespace, scope and text";
  if (const auto id = text_in(*asked, "id")) {
    std::optional<std::string> bytes = core::from_hex(*id);
    if (!bytes || bytes->empty() || bytes->size() > sizeof(Digest)) {
      co_return error_answer(400, "id: must be hexadecimal digits, an even number of them, up to 64");
    }
    begins = *std::move(bytes);
    looked_for = "a key whose id begins with " + *id;
  } else {
    const Result<Key> key = key_in(*sources->config(), *asked);
    if (!key) co_return error_answer(400, key.error().detail);
    const Digest named = sources->desk->named(*key).id;
    begins.assign(reinterpret_cast<const char*>(named.data()), named.size());
    looked_for += " (id " + core::to_hex(named) + ", namespace " + key->space + ")";
  }
  const Result<std::vector<Held>> found = co_await sources->desk->find(std::move(begins), found_max);
  if (!found) co_return error_answer(503, found.error().detail);
  if (found->empty()) {
    co_return error_answer(404, "looked for " + looked_for + "; there is none. Keys that have expired are gone");
  }
  std::string body;
  core::json::JsonWriter json(body);
  json.begin_object().name("items").begin_array();
  for (const Held& held : *found) {
    const std::optional<resolver::Suggestion> suggestion = co_await suggestion_for(sources, &held);
    write_key(json, held, suggestion);
  }
  json.end_array().end_object();
  co_return json_answer(200, std::move(body));
}

}  // namespace semel::admin
