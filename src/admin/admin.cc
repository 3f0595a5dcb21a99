// Pages for operators and their tools. They answer from what the gateway has; /readyz writes a key of its own, and one
// page changes keys: admin_reopen.cc.
#include "admin/admin.h"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/config.h"
#include "gateway/plan.h"
#include "gateway/worker.h"
#include "http/failure.h"
#include "http/listener.h"
#include "http/transaction.h"
#include "http/upstream.h"
#include "http/writer.h"
#include "policy/host.h"
#include "reading/address.h"
#include "reading/secret.h"
#include "telemetry/metrics.h"
#include "telemetry/request_log.h"
#include <semel/async.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/reopening.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::admin {
namespace {

constexpr std::string_view json_type = "application/json";

// Takes as long for a wrong token as for the right one.
bool equal_slowly(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0U : 1U;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i % (b.empty() ? 1 : b.size())]);
  }
  return difference == 0;
}

std::string escaped(std::string_view text) {
  std::string out;
  telemetry::append_json_escaped(out, text);
  return out;
}

std::string path_of(std::string_view target) {
  return std::string(target.substr(0, target.find('?')));
}

}  // namespace

Admin::Admin(gateway::Worker& worker, Store& store, Reopening* reopening, telemetry::Metrics& metrics,
             reading::Secret token)
    : worker_(worker), store_(store), reopening_(reopening), metrics_(metrics), token_(std::move(token)) {
  gate_.connections_max = 256;
}

Result<std::uint16_t> Admin::listen(const reading::Endpoint& endpoint) {
  auto listener = http::Listener::open(worker_.executor(), worker_.ticker(), endpoint.host, endpoint.port,
                                       http::Sharing::alone, gate_);
  if (!listener) return std::unexpected(listener.error());
  listener_ = *std::move(listener);
  loopback_ = reading::is_loopback(endpoint);
  return listener_->port();
}

void Admin::start() {
  listener_->start(*this, {});
}

void Admin::stop() {
  listener_->stop();
}

void Admin::set_token(reading::Secret token) {
  token_ = std::move(token);
}

Task<void> Admin::handle(http::Transaction& transaction) {
  return answer(&transaction);
}

Task<void> Admin::answer(http::Transaction* client) {
  Reply reply{.status = 404, .type = std::string(json_type), .body = R"({"error":"no such page"})"};
  const std::string path = path_of(client->head().target());
  if (!is_meant(client->head())) {
    reply = {.status = 421,
             .type = std::string(json_type),
             .body = R"({"error":"not a name of this listener; add it to server.hosts"})"};
  } else if (path == "/v1/webhooks/reopen" && client->head().method() == "POST") {
    reply = co_await reopen(client);
  } else if (client->head().method() != "GET" && client->head().method() != "HEAD") {
    reply = {.status = 405, .type = std::string(json_type), .body = R"({"error":"only GET here"})"};
  } else if (path == "/healthz") {
    reply = {.status = 200, .type = std::string(json_type), .body = R"({"status":"alive"})"};
  } else if (path == "/readyz") {
    reply = co_await readiness();
  } else if (!may_read(client->head())) {
    reply = {.status = 401, .type = std::string(json_type), .body = R"({"error":"send Authorization: Bearer TOKEN"})"};
  } else if (path == "/metrics") {
    reply = {.status = 200, .type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics_.render()};
  }
  const auto fields = [&](http::HeadWriter& out) {
    out.field("Content-Type", reply.type).field("Cache-Control", "no-store");
  };
  const http::Try<void> sent = co_await client->reply(reply.status, fields, reply.body);
  if (!sent) client->close_after();
}

// Whoever reaches the loopback from a page of a browser does so under a name of his own. Where others reach the
// listener anyway, they have a token and call it by names that we do not know.
bool Admin::is_meant(const http::Head& head) const {
  const std::string_view host = head.find("Host").value_or("");
  if (!loopback_ || host.empty() || policy::is_local(host)) return true;
  const std::vector<policy::HostPattern>& hosts = worker_.plan()->config->server.hosts;
  return !hosts.empty() && policy::answers_to(hosts, host);
}

bool Admin::may_read(const http::Head& head) const {
  if (token_.empty()) return true;
  const std::string_view given = head.find("Authorization").value_or("");
  constexpr std::string_view scheme = "Bearer ";
  return given.starts_with(scheme) && equal_slowly(given.substr(scheme.size()), token_.reveal());
}

Task<Admin::Reply> Admin::readiness() {
  const std::string store = co_await store_trouble();
  const std::string upstream = co_await upstream_trouble();
  const bool ready = store.empty() && upstream.empty();
  std::string body = std::string(R"({"ready":)") + (ready ? "true" : "false");
  body += R"(,"store":")" + (store.empty() ? "writable" : escaped(store)) + '"';
  body += R"(,"upstreams":")" + (upstream.empty() ? "reachable" : escaped(upstream)) + "\"}";
  co_return Reply{
      .status = static_cast<std::uint16_t>(ready ? 200 : 503), .type = std::string(json_type), .body = std::move(body)};
}

// Writes a key of its own and frees it again.
Task<std::string> Admin::store_trouble() {
  const Result<Key> key = make_key("semel-health", "", "readyz");
  const Terms terms{.lease = Millis{1'000}, .ttl = Millis{60'000}, .lapsed = Terms::Lapsed::taken_over, .owner = 1};
  const Fingerprint none{};
  const Result<Claim> claim = co_await store_.claim(*key, none, terms);
  if (!claim) co_return claim.error().detail;
  if (const auto* granted = std::get_if<Granted>(&*claim)) {
    const Result<void> released = co_await store_.release(*key, granted->fence);
    if (!released) co_return released.error().detail;
  }
  co_return std::string();
}

Task<std::string> Admin::upstream_trouble() {
  const std::shared_ptr<const gateway::Plan> plan = worker_.plan();
  for (std::size_t i = 0; i < plan->upstreams.size(); ++i) {
    const auto link = co_await plan->upstreams[i]->link(http::Upstream::Use::fresh);
    if (link) continue;
    const std::string& why = plan->upstreams[i]->trouble();
    co_return plan->config->upstreams[i].name + " takes no connection" + (why.empty() ? "" : ": " + why);
  }
  co_return std::string();
}

}  // namespace semel::admin
