// /healthz says that the process answers. /readyz says that a request would get through: a key can be written to the
// store and every upstream can be reached; or only the first, if the configuration says so. /metrics is for Prometheus.
#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/this_coro.hpp>

#include "admin/answers.h"
#include "admin/caller.h"
#include "admin/handlers.h"
#include "admin/sources.h"
#include "config/config.h"
#include "core/encoding.h"
#include "core/json/writer.h"
#include "core/seal.h"
#include "gateway/plan.h"
#include "policy/request_view.h"
#include "store/identity.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::admin {
namespace {

// Writes a key that nobody has and frees it again. With the key of the last time, a store could answer from what it
// remembers, without writing.
Task<std::string> store_trouble(Store* store) {
  const core::Salt salt = store::random_salt();
  const Result<Key> key = make_key("semel-health", "", "readyz " + core::to_hex(salt));
  const Terms terms{.lease = Millis{1'000}, .ttl = Millis{5'000}, .lapsed = Terms::Lapsed::taken_over, .owner = 1};
  const Fingerprint none{};
  const Result<Claim> claim = co_await store->claim(*key, none, terms);
  if (!claim) co_return claim.error().detail;
  if (const auto* granted = std::get_if<Granted>(&*claim)) {
    const Result<void> released = co_await store->release(*key, granted->fence);
    if (!released) co_return released.error().detail;
  }
  co_return std::string();
}

}  // namespace

Task<Response> health(const Sources* /*sources*/, policy::RequestView /*request*/, Caller /*caller*/) {
  std::string body;
  core::json::JsonWriter(body).begin_object().text("status", "alive").end_object();
  co_return json_answer(200, std::move(body));
}

Task<Response> readiness(const Sources* sources, policy::RequestView /*request*/, Caller /*caller*/) {
  std::string body;
  core::json::JsonWriter json(body);
  if (sources->draining()) {
    json.begin_object().boolean("ready", false).boolean("draining", true).end_object();
    co_return json_answer(503, std::move(body));
  }
  const bool store_only = sources->config()->admin.ready_needs == config::ReadyNeeds::store;
  const std::string store = co_await store_trouble(&sources->store);
  std::vector<gateway::UpstreamState> upstreams;
  if (!store_only)
    upstreams = co_await sources->upstreams();  // one that does not answer would hold up the store's word
  const bool reached = std::ranges::all_of(upstreams, [](const auto& each) { return each.trouble.empty(); });
  const bool ready = store.empty() && reached;
  json.begin_object().boolean("ready", ready).text("needs", store_only ? "store" : "all");
  json.bytes("store", store.empty() ? "writable" : store);
  if (!store_only) {
    json.name("upstreams").begin_object();
    for (const gateway::UpstreamState& each : upstreams) {
      json.escaped_name(each.name).bytes(each.trouble.empty() ? "reachable" : each.trouble);
    }
    json.end_object();
  }
  json.end_object();
  co_return json_answer(ready ? 200 : 503, std::move(body));
}

Task<Response> metrics(const Sources* sources, policy::RequestView /*request*/, Caller /*caller*/) {
  std::string text = sources->metrics();
  if (sources->doubts != nullptr) {
    const Executor executor = co_await boost::asio::this_coro::executor;
    text += sources->doubts->text(sources->now(), executor);
  }
  co_return Response{.status = 200,
                     .fields = {{.name = "Content-Type", .value = "text/plain; version=0.0.4; charset=utf-8"}},
                     .body = std::move(text)};
}

}  // namespace semel::admin
