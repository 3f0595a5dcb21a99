// The order of checks, and the only use of the connection.
#include "admin/admin.h"

#include <algorithm>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "admin/access.h"
#include "admin/answers.h"
#include "admin/caller.h"
#include "admin/page.h"
#include "admin/sources.h"
#include "config/config.h"
#include "http/failure.h"
#include "http/transaction.h"
#include "http/writer.h"
#include "policy/host.h"
#include "policy/request_view.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/response.h>

namespace semel::admin {
namespace {

bool is_read(std::string_view method) {
  return method == "GET" || method == "HEAD";
}

// The first line of a field; empty if there is none.
std::string_view field_of(const policy::RequestView& request, std::string_view name) {
  const auto lines = policy::lines_of(request.fields, name);
  return lines.empty() ? std::string_view() : lines.front();
}

// A page in a browser reaches the loopback only under a name of its own. Where others reach the listener anyway, they
// have a token and call it by names that we do not know.
bool is_meant(const policy::RequestView& request, Exposure exposure, const config::Config& config) {
  const std::string_view host = field_of(request, "Host");
  if (exposure == Exposure::network || host.empty() || policy::is_local(host)) return true;
  return !config.server.hosts.empty() && policy::answers_to(config.server.hosts, host);
}

Response wrong_method(std::string_view allowed) {
  const std::string_view methods = allowed.empty() ? std::string_view("GET, HEAD") : allowed;
  Response answer = error_answer(405, "only " + std::string(methods == "GET, HEAD" ? "GET" : methods) + " here");
  answer.fields.push_back({.name = "Allow", .value = std::string(methods)});
  return answer;
}

}  // namespace

Admin::Admin(Sources sources, Exposure exposure, std::span<const Page> pages)
    : sources_(std::move(sources)), exposure_(exposure), pages_(pages) {}

Task<void> Admin::handle(http::Transaction& transaction) {
  return answer(&transaction);
}

Task<void> Admin::answer(http::Transaction* client) {
  policy::RequestView request;
  request.method = client->head().method();
  request.fields = client->head().fields();
  request.ip = client->peer();
  policy::set_target(request, client->head().target());
  const std::optional<Response> response = co_await response_to(client, request);
  if (!response) co_return;
  const auto fields = [&](http::HeadWriter& out) {
    const auto unless_set = [&](std::string_view name, std::string_view value) {
      const bool set = std::ranges::any_of(response->fields, [&](const Field& field) { return field.name == name; });
      if (!set) out.field(name, value);
    };
    for (const Field& field : response->fields) out.field(field.name, field.value);
    unless_set("Cache-Control", "no-store");
    // A browser that is shown an answer as a page must not run it, nor hand it to a page of another origin.
    unless_set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
    unless_set("X-Content-Type-Options", "nosniff");
    unless_set("Cross-Origin-Resource-Policy", "same-origin");
    unless_set("Referrer-Policy", "no-referrer");
  };
  const http::Try<void> sent = co_await client->reply(response->status, fields, response->body);
  if (!sent) client->close_after();
}

Task<std::optional<Response>> Admin::response_to(http::Transaction* client, policy::RequestView request) {
  const std::shared_ptr<const config::Config> config = sources_.config();
  if (!is_meant(request, exposure_, *config)) {
    co_return error_answer(421, "not a name of this listener; add it to server.hosts");
  }
  const Found found = find(pages_, request.method, request.path);
  if (found.page == nullptr && !is_read(request.method)) co_return wrong_method(found.allowed);
  const Access access = found.page == nullptr ? Access::reader : found.page->access;
  const Sessions sessions{.sign_ins = sources_.sign_ins, .now = sources_.now ? sources_.now() : Time{}};
  const std::expected<Caller, Response> caller = admitted(access, request, config->admin, sessions);
  if (!caller) co_return caller.error();
  if (found.page == nullptr) co_return error_answer(404, "no such page");
  std::string body;
  if (!is_read(request.method)) {
    http::Try<std::string> read = co_await client->read_whole_body(config->limits.body_bytes);
    if (!read) {
      client->close_after();
      co_return error_answer(400, "the body cannot be read");
    }
    body = *std::move(read);
  }
  request.body = body;
  if (found.page->stream != nullptr) co_return co_await found.page->stream(&sources_, request, *caller, client);
  co_return co_await found.page->handler(&sources_, request, *caller);
}

}  // namespace semel::admin
