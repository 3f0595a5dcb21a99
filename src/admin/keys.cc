// What the desk shows: a list of keys that need somebody, one key, and what operators did.
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "admin/answers.h"
#include "admin/caller.h"
#include "admin/desk_request.h"
#include "admin/handlers.h"
#include "admin/key_json.h"
#include "admin/sources.h"
#include "admin/suggested.h"
#include "config/config.h"
#include "config/match.h"
#include "core/json/writer.h"
#include "policy/request_view.h"
#include "policy/route.h"
#include "reading/units.h"
#include "resolver/suggestion.h"
#include "store/audit_log.h"
#include "store/desk.h"
#include "webhook/webhook.h"
#include <semel/async.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::admin {
namespace {

constexpr std::size_t items_max = 1'000;
constexpr std::size_t alike_max = 10;  // keys that begin with the same bytes and are shown together

std::optional<std::uint64_t> number_of(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The namespace that the keys of a route, or of a webhook, are in. A key does not know its route, so this is what a
// list by route goes by.
Result<std::string> space_of(const config::Config& config, const policy::RequestView& request,
                             const std::string& route) {
  const std::string method = parameter(request, "method").value_or("POST");
  const config::Match matched = config::match(config, method, route);
  if (const auto* call = std::get_if<config::WebhookCall>(&matched)) return call->webhook->space;
  if (const auto* guarded = std::get_if<config::Guarded>(&matched)) return guarded->route->space;
  return fail(Code::invalid, "route: no route guards " + method + " " + route);
}

Result<std::optional<std::string>> space_in(const policy::RequestView& request, const config::Config& config) {
  std::optional<std::string> given = parameter(request, "namespace");
  const std::optional<std::string> route = parameter(request, "route");
  if (!route) return given;
  Result<std::string> space = space_of(config, request, *route);
  if (!space) return std::unexpected(std::move(space.error()));
  if (given && *given != *space) {
    return fail(Code::invalid, "namespace: the keys of the route are in the namespace " + *space);
  }
  return *std::move(space);
}

// The filter in the query, or the name of the parameter that is wrong.
Result<store::KeyFilter> filter_in(const policy::RequestView& request, const Sources& sources) {
  store::KeyFilter filter;
  const std::string state = parameter(request, "state").value_or("unknown");
  if (state != "unknown" && state != "running") return fail(Code::invalid, "state: must be unknown or running");
  filter.wanted = state == "unknown" ? store::KeyFilter::Wanted::unknown : store::KeyFilter::Wanted::running;
  Result<std::optional<std::string>> space = space_in(request, *sources.config());
  if (!space) return std::unexpected(std::move(space.error()));
  filter.space = *std::move(space);
  if (const auto scope = parameter(request, "scope")) {
    const Result<Key> key = make_key(filter.space.value_or("default"), *scope, "-");
    if (!key) return fail(Code::invalid, "namespace: " + key.error().detail);
    filter.scope = sources.desk->named(*key).scope;
  }
  if (const auto older = parameter(request, "older")) {
    const auto span = reading::parse_duration(*older);
    if (!span) return fail(Code::invalid, "older: must be a duration such as 1h");
    filter.older = *span;
  }
  if (const auto limit = parameter(request, "limit")) {
    const std::optional<std::uint64_t> number = number_of(*limit);
    if (!number || *number == 0 || *number > items_max) return fail(Code::invalid, "limit: must be 1 to 1000");
    filter.items_max = static_cast<std::size_t>(*number);
  }
  return filter;
}

}  // namespace

Task<Response> list_keys(const Sources* sources, policy::RequestView request, Caller /*caller*/) {
  if (sources->desk == nullptr) co_return error_answer(501, "this store cannot be looked into");
  Result<store::KeyFilter> filter = filter_in(request, *sources);
  if (!filter) co_return error_answer(400, filter.error().detail);
  const std::optional<std::string> space = filter->space;
  std::string cursor = parameter(request, "cursor").value_or("");
  const Result<store::KeyList> list = co_await sources->desk->list(*std::move(filter), std::move(cursor));
  if (!list) co_return error_answer(list.error().code == Code::invalid ? 400 : 503, list.error().detail);
  std::string body;
  core::json::JsonWriter json(body);
  json.begin_object().name("items").begin_array();
  for (const Held& held : list->items) {
    const std::optional<resolver::Suggestion> suggestion = co_await suggestion_for(sources, &held);
    write_key(json, held, suggestion);
  }
  json.end_array().text("cursor", list->cursor).text("searched_to", time_text(list->searched_to));
  if (space) json.text("namespace", *space);
  json.boolean("complete", list->cursor.empty()).end_object();
  co_return json_answer(200, std::move(body));
}

Task<Response> show_key(const Sources* sources, policy::RequestView request, Caller /*caller*/) {
  if (sources->desk == nullptr) co_return error_answer(501, "this store cannot be looked into");
  const std::optional<std::string> id = id_in(request);
  if (!id) co_return error_answer(400, "id: must be hexadecimal digits, an even number of them, up to 64");
  const Result<std::vector<Held>> found = co_await sources->desk->find(*id, alike_max);
  if (!found) co_return error_answer(503, found.error().detail);
  if (found->empty()) co_return error_answer(404, "there is no key with this id; keys that have expired are gone");
  if (found->size() > 1) co_return error_answer(409, "several keys begin with this id; send more of it");
  const std::optional<resolver::Suggestion> suggestion = co_await suggestion_for(sources, &found->front());
  std::string body;
  core::json::JsonWriter json(body);
  write_key(json, found->front(), suggestion);
  co_return json_answer(200, std::move(body));
}

Task<Response> show_audit(const Sources* sources, policy::RequestView request, Caller /*caller*/) {
  if (sources->audit == nullptr) co_return error_answer(501, "this store has no audit log");
  const std::optional<std::uint64_t> after = number_of(parameter(request, "after").value_or("0"));
  if (!after) co_return error_answer(400, "after: must be the number of an entry");
  const std::optional<std::uint64_t> limit = number_of(parameter(request, "limit").value_or("100"));
  if (!limit || *limit == 0 || *limit > items_max) co_return error_answer(400, "limit: must be 1 to 1000");
  const Result<std::vector<store::AuditEntry>> found =
      co_await sources->audit->read(*after, static_cast<std::size_t>(*limit));
  if (!found) co_return error_answer(503, found.error().detail);
  std::string body;
  core::json::JsonWriter json(body);
  json.begin_object().name("items").begin_array();
  for (const store::AuditEntry& entry : *found) {
    json.begin_object().number("number", entry.number).hex("hash", entry.hash).bytes("entry", entry.text).end_object();
  }
  json.end_array().boolean("complete", found->size() < *limit).end_object();
  co_return json_answer(200, std::move(body));
}

}  // namespace semel::admin
