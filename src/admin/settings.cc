// GET /v1/config: every option with its value and its default, as the reader of the file knows them. Secrets are not
// among what it notes.
#include <memory>
#include <string>
#include <utility>

#include "admin/answers.h"
#include "admin/caller.h"
#include "admin/handlers.h"
#include "admin/sources.h"
#include "config/config.h"
#include "core/json/writer.h"
#include "policy/request_view.h"
#include "policy/route.h"
#include "reading/table_reader.h"
#include "webhook/webhook.h"
#include <semel/async.h>
#include <semel/response.h>

namespace semel::admin {

Task<Response> show_config(const Sources* sources, policy::RequestView /*request*/, Caller /*caller*/) {
  const std::shared_ptr<const config::Config> config = sources->config();
  std::string body;
  core::json::JsonWriter json(body);
  json.begin_object().name("settings").begin_array();
  for (const reading::KeyUse& use : config->settings) {
    json.begin_object().bytes("table", use.table).bytes("option", use.key).bytes("value", use.value);
    json.bytes("default", use.default_value).boolean("set", use.present).end_object();
  }
  json.end_array().name("routes").begin_array();
  for (const policy::Route& route : config->routes) {
    json.begin_object().bytes("path", route.path.text).bytes("namespace", route.space);
    json.bytes("scope", route.scope.text).bytes("key", route.key_from.text).name("methods").begin_array();
    for (const std::string& method : route.methods) json.bytes(method);
    json.end_array().bytes("upstream", config->upstreams[route.target.upstream].name);
    json.boolean("probe", route.probe.has_value()).end_object();
  }
  json.end_array().name("webhooks").begin_array();
  for (const webhook::Webhook& webhook : config->webhooks) {
    json.begin_object().bytes("path", webhook.path.text).bytes("provider", webhook.provider);
    json.bytes("namespace", webhook.space).number("secrets", webhook.secrets.size()).end_object();
  }
  json.end_array().end_object();
  co_return json_answer(200, std::move(body));
}

}  // namespace semel::admin
