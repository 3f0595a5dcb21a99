// The operator's listener, as a whole: whatever is sent, each answer is one of its own, JSON or metrics, and without
// the token nothing is told and nothing is changed.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/json/parse.hpp>

#include "admin/admin.h"
#include "config/config.h"
#include "config/parse.h"
#include "core/check.h"
#include "fuzz/conversation.h"
#include "gateway/bookkeeper.h"
#include "gateway/plan.h"
#include "gateway/quotas.h"
#include "gateway/rate_limiter.h"
#include "gateway/services.h"
#include "gateway/tls_set.h"
#include "gateway/worker.h"
#include "http/inherited.h"
#include "http/listener.h"
#include "reading/resolver.h"
#include "support/virtual_clock.h"
#include "telemetry/metrics.h"
#include "telemetry/request_log.h"
#include <semel/async.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/reopening.h>
#include <semel/result.h>
#include <semel/store.h>
#include <semel/stores.h>

namespace {

using semel::core::check;
namespace http = semel::http;

constexpr std::string_view token = "open-sesame";
constexpr std::string_view text = R"(
[admin]
token = "open-sesame"
[upstream.app]
url = "http://127.0.0.1:1"
[[webhook]]
path = "/hook"
provider = "stripe"
secrets = ["whsec_c2VjcmV0"]
upstream = "app"
)";

class Resolver : public semel::reading::Resolver {
 public:
  [[nodiscard]] std::optional<std::string> environment(const std::string&) const override { return std::nullopt; }
  [[nodiscard]] semel::Result<std::string> file(const std::string&) const override {
    return semel::fail(semel::Code::unavailable, "no files here");
  }
};

std::shared_ptr<const semel::config::Config> config() {
  auto loaded = semel::config::parse_config(text, "fuzz", Resolver());
  check(loaded.has_value(), "the configuration is sound");
  return std::make_shared<const semel::config::Config>(std::move(loaded->config));
}

semel::Task<void> nothing(const semel::Key& /*key*/) {
  co_return;
}

// Everything that the listener stands on, made once: no request may leave a trace that the next one sees.
struct House {
  semel::test::VirtualClock clock;
  semel::OpenedStore opened = semel::make_memory_store(clock);
  semel::Once once{*opened.store, clock, 1};
  semel::telemetry::Metrics metrics;
  semel::gateway::Witness witness;
  semel::telemetry::LogSink log{-1};
  semel::gateway::Bookkeeper books{clock, 1};
  http::Gate gate;
  semel::gateway::Quotas quotas;
  semel::gateway::RateLimiters limiters;
  semel::gateway::Companies companies{1};
  http::Inherited inherited;
  semel::gateway::Worker worker{semel::gateway::Shared{.clock = clock,
                                                       .once = once,
                                                       .metrics = metrics,
                                                       .witness = witness,
                                                       .log = log,
                                                       .books = books,
                                                       .gate = gate,
                                                       .quotas = quotas,
                                                       .limiters = limiters,
                                                       .companies = companies,
                                                       .glance = nullptr,
                                                       .inherited = inherited},
                                config(),
                                semel::gateway::TlsSet{.server = nullptr, .api = nullptr, .upstreams = {nullptr}}};
  semel::admin::Admin admin{{.store = *opened.store,
                             .reopening = opened.reopening,
                             .config = [this] { return worker.plan()->config; },
                             .metrics = [this] { return metrics.render(); },
                             .upstreams = [this] { return semel::gateway::upstream_states(worker.plan()); },
                             .draining = [] { return false; },
                             .forget = nothing},
                            semel::admin::Exposure::network};

  std::string answers_to(std::string_view input, std::size_t step) {
    auto& context = static_cast<boost::asio::io_context&>(worker.executor().context());
    semel::fuzz::Conversation conversation(context, worker.ticker(), admin, {.head = {.head_bytes = 4096}});
    return conversation.run(input, step);
  }
};

void check_answer(const semel::fuzz::Answer& answer, bool told) {
  const std::set<std::uint16_t> statuses{200, 400, 401, 403, 404, 405, 408, 413, 414, 417, 431, 501, 503};
  check(statuses.contains(answer.status), "every answer is one of its own");
  const bool metrics = answer.type.starts_with("text/plain");
  boost::system::error_code broken;
  if (!metrics) boost::json::parse(answer.body, broken);
  check(metrics || !broken, "it is JSON, or the metrics");
  check(told || !metrics, "metrics are for whoever has the token");
  check(told || answer.body != R"({"reopened":true})", "and so is what changes anything");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.find("readyz") != std::string_view::npos) return 0;  // connects to an upstream, which takes its time
  if (input.find("HEAD") != std::string_view::npos || input.find("100-") != std::string_view::npos) return 0;
  static House house;
  const std::string whole = house.answers_to(input, size + 1);
  const bool same = semel::fuzz::taken_in(house.answers_to(input, 1)) == semel::fuzz::taken_in(whole);
  check(same, "it does not matter in which pieces requests come");
  const bool told = input.find(token) != std::string_view::npos;
  for (const semel::fuzz::Answer& answer : semel::fuzz::answers_in(whole)) check_answer(answer, told);
  return 0;
}
