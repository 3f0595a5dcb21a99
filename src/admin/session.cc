// /v1/session: who is signed in to the dashboard, signing in with a token, signing out.
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json/object.hpp>

#include "admin/access.h"
#include "admin/answers.h"
#include "admin/caller.h"
#include "admin/desk_request.h"
#include "admin/handlers.h"
#include "admin/key_json.h"
#include "admin/page.h"
#include "admin/sign_in.h"
#include "admin/sources.h"
#include "config/config.h"
#include "core/json/writer.h"
#include "policy/request_view.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/response.h>

namespace semel::admin {
namespace {

constexpr std::size_t name_bytes_max = 100;

bool is_off(const Sources& sources) {
  return sources.sign_ins == nullptr || !sources.config()->admin.dashboard;
}

bool is_printable(std::string_view name) {
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == '\x7f') return false;
  }
  return true;
}

// Whether this gateway has what an operation is about.
bool has(const Sources& sources, const config::Config& config, std::string_view path) {
  if (path.starts_with("/v1/outbox")) return !sources.outboxes.empty();
  if (path.starts_with("/v1/inbox") || path.starts_with("/v1/destinations")) return sources.dispatcher != nullptr;
  if (path.starts_with("/v1/webhooks")) return !config.webhooks.empty();
  return path.starts_with("/v1/");
}

}  // namespace

// Not signed in is an answer like any other: the page then asks for a token.
Task<Response> show_session(const Sources* sources, policy::RequestView request, Caller /*caller*/) {
  if (is_off(*sources)) co_return error_answer(404, "no such page");
  const std::shared_ptr<const config::Config> config = sources->config();
  const Sessions sessions{.sign_ins = sources->sign_ins, .now = sources->now()};
  const auto caller = admitted(Access::reader, request, config->admin, sessions);
  std::string body;
  core::json::JsonWriter json(body);
  json.begin_object().boolean("signed_in", caller.has_value()).boolean("tokens", knows_anybody(config->admin));
  if (!caller) {
    json.end_object();
    co_return json_answer(200, std::move(body));
  }
  json.text("role", name_of(caller->role)).bytes("name", caller->name).text("version", SEMEL_VERSION);
  if (const auto session = sources->sign_ins->of(request, sources->now(), config->admin)) {
    json.text("until", time_text(session->until));
  }
  // So that a page which this gateway has nothing for is not shown.
  json.name("operations").begin_array();
  for (const Page& page : table()) {
    if (has(*sources, *config, page.path)) json.text(std::string(page.method) + " " + std::string(page.path));
  }
  json.end_array().end_object();
  co_return json_answer(200, std::move(body));
}

Task<Response> begin_session(const Sources* sources, policy::RequestView request, Caller /*caller*/) {
  if (is_off(*sources)) co_return error_answer(404, "no such page");
  if (const std::string_view why = not_of_our_page(request); !why.empty()) co_return error_answer(403, why);
  const std::optional<boost::json::object> body = object_in(request);
  if (!body) co_return error_answer(400, "the body must be a JSON object");
  const std::string name = text_in(*body, "name").value_or("");
  if (name.size() > name_bytes_max || !is_printable(name)) {
    co_return error_answer(400, "name: must be up to 100 bytes without control characters");
  }
  const std::string token = text_in(*body, "token").value_or("");
  const auto cookie = sources->sign_ins->begin(token, name, sources->now(), sources->config()->admin);
  if (!cookie) co_return error_answer(401, "this token is not known here; [admin] of the configuration has them");
  Response answer = json_answer(200, "{\"signed_in\":true}");
  answer.fields.push_back({.name = "Set-Cookie", .value = cookie_field(request, *cookie)});
  co_return answer;
}

Task<Response> end_session(const Sources* sources, policy::RequestView request, Caller /*caller*/) {
  if (is_off(*sources)) co_return error_answer(404, "no such page");
  if (const std::string_view why = not_of_our_page(request); !why.empty()) co_return error_answer(403, why);
  const Time now = sources->now();
  if (const auto session = sources->sign_ins->of(request, now, sources->config()->admin)) {
    sources->sign_ins->end(*session, now);
  }
  Response answer = json_answer(200, "{\"signed_in\":false}");
  answer.fields.push_back({.name = "Set-Cookie", .value = cookie_field(request, {})});
  co_return answer;
}

}  // namespace semel::admin
