// POST /v1/keys/find: a key by what the customer sent.
//
//   {"namespace": "default", "scope": "Bearer …", "key": "…"}     the three parts of a key
//   {"route": "/v1/payments", "fields": {"Authorization": "…"}, "key": "…"}    namespace and scope follow from the
//   route
//   {"webhook": "/webhooks/stripe", "event": "evt_1"}             an event of a webhook
//   {"id": "a1b2c3"}                                              as a log line or a list shows it
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "admin/answers.h"
#include "admin/caller.h"
#include "admin/desk_request.h"
#include "admin/handlers.h"
#include "admin/key_json.h"
#include "admin/sources.h"
#include "config/config.h"
#include "config/match.h"
#include "core/encoding.h"
#include "core/field_view.h"
#include "core/json/writer.h"
#include "policy/expression.h"
#include "policy/request_view.h"
#include "policy/route.h"
#include "store/desk.h"
#include "webhook/webhook.h"
#include <semel/async.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::admin {
namespace {

constexpr std::size_t found_max = 10;

// The scope of a request to the route, from the fields that the customer sent.
Result<std::string> scope_of(const policy::Route& route, const boost::json::object& asked, const std::string& target) {
  policy::RequestView view;
  view.method = "POST";
  policy::set_target(view, target);
  std::vector<FieldView> fields;
  if (const boost::json::value* const given = asked.if_contains("fields"); given != nullptr && given->is_object()) {
    for (const auto& field : given->get_object()) {
      if (!field.value().is_string()) return fail(Code::invalid, "fields: each must be a string");
      fields.push_back({.name = field.key(), .value = field.value().get_string()});
    }
  }
  view.fields = fields;
  auto scope = policy::evaluate(route.scope, view);
  if (!scope) return fail(Code::invalid, "fields: the scope of the route needs more; " + scope.error().detail);
  return *std::move(scope);
}

Result<Key> key_at_route(const config::Config& config, const boost::json::object& asked, const std::string& target) {
  const std::string method = text_in(asked, "method").value_or("POST");
  policy::RequestView view;
  policy::set_target(view, target);
  const config::Match matched = config::match(config, method, view.path);
  const auto* guarded = std::get_if<config::Guarded>(&matched);
  if (guarded == nullptr) return fail(Code::invalid, "route: no route guards " + method + " " + target);
  const std::optional<std::string> text = text_in(asked, "key");
  if (!text) return fail(Code::invalid, "key: the text that the customer sent is needed");
  const Result<std::string> scope = scope_of(*guarded->route, asked, target);
  if (!scope) return std::unexpected(scope.error());
  return make_key(guarded->route->space, *scope, *text);
}

// The key that is asked for, by its parts.
Result<Key> key_in(const config::Config& config, const boost::json::object& asked) {
  if (const auto route = text_in(asked, "route")) return key_at_route(config, asked, *route);
  if (const auto path = text_in(asked, "webhook")) {
    const config::Match matched = config::match(config, "POST", *path);
    const auto* call = std::get_if<config::WebhookCall>(&matched);
    if (call == nullptr) return fail(Code::invalid, "webhook: no webhook has this path");
    const std::optional<std::string> event = text_in(asked, "event");
    if (!event) return fail(Code::invalid, "event: the id of the event is needed");
    return make_key(call->webhook->space, *path, *event);
  }
  const std::optional<std::string> text = text_in(asked, "key");
  if (!text) return fail(Code::invalid, "key: one of key, event and id is needed");
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
  for (const Held& held : *found) write_key(json, held);
  json.end_array().end_object();
  co_return json_answer(200, std::move(body));
}

}  // namespace semel::admin
