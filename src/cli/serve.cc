// `semel serve`: configuration, store and signals around a gateway.
#include "cli/serve.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include <fmt/format.h>

#include "admin/admin.h"
#include "admin/sources.h"
#include "api/access.h"
#include "api/api.h"
#include "api/work.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/process.h"
#include "cli/signals.h"
#include "cli/stores.h"
#include "config/config.h"
#include "gateway/gateway.h"
#include "gateway/plan.h"
#include "gateway/replay_cache.h"
#include "gateway/worker.h"
#include "reading/address.h"
#include "store/audit_log.h"
#include "store/capable_store.h"
#include "store/desk.h"
#include "store/lookup.h"
#include "telemetry/metrics.h"
#include "telemetry/request_log.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/reopening.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::cli {
namespace {

constexpr std::size_t files_of_our_own = 128;  // for the store, the admin listener and connections that are ending

// Until every thread has ended; a second signal to stop ends them at once.
void drain(gateway::Gateway& gateway) {
  gateway.drain();
  while (!gateway.ended()) {
    if (next_signal(std::chrono::milliseconds(50)) == Signal::stop) gateway.stop();
  }
}

struct ServeOptions {
  std::string config;
  std::string upstream;
};

int serve(const ServeOptions& options) {
  take_over_signals();
  std::shared_ptr<const config::Config> config;
  if (options.upstream.empty()) {
    config = load_config(options.config);
    if (config == nullptr) return 1;
  } else {
    auto simple = config::default_config(options.upstream);
    if (!simple) {
      fmt::print(stderr, "semel: --upstream: {}\n", simple.error().detail);
      return 2;
    }
    config = std::make_shared<const config::Config>(*std::move(simple));
  }
  ServeHooks hooks;
  hooks.started = [&](const Ports& ports) {
    if (ports.gateway == 0) {
      fmt::print(stderr, "semel: listening on port {} for claims only, admin on port {}\n", ports.api, ports.admin);
      return;
    }
    const std::string api = ports.api == 0 ? std::string() : fmt::format(", claims API on port {}", ports.api);
    fmt::print(stderr, "semel: listening on {}, admin on port {}{}\n", reading::endpoint_text(config->server.listen),
               ports.admin, api);
  };
  if (options.upstream.empty()) hooks.new_config = [&] { return load_config(options.config); };
  return run_gateway(config, hooks);
}

// Clients must not use up the files that upstreams, the store and the admin listener need. Most clients are idle.
std::shared_ptr<const config::Config> within(std::size_t files, const std::shared_ptr<const config::Config>& config) {
  const std::size_t room = files > 2 * files_of_our_own ? (files - files_of_our_own) / 5 * 3 : files_of_our_own / 2;
  if (config->limits.connections <= room) return config;
  const std::size_t most = config->limits.connections;
  const bool worth_a_word = room < most / 10 * 9;
  if (worth_a_word) {
    fmt::print(stderr,
               "semel: limits.connections is {}, but this process may open {} files: it will take {} connections; "
               "raise the limit of open files (ulimit -n, LimitNOFILE=)\n",
               most, files, room);
  }
  auto lower = std::make_shared<config::Config>(*config);
  lower->limits.connections = static_cast<std::uint32_t>(room);
  return lower;
}

// The operators' listener, beside the gateway's own. Returns its port; 0 if there is none.
struct Operated {
  Store& store;
  Reopening* reopening;
  store::Desk* desk;
  store::AuditLog* audit;
};
Result<std::uint16_t> open_admin(gateway::Gateway& gateway, const Operated& operated, Clock& clock,
                                 const config::AdminConfig& config) {
  if (!config.listen) return 0;
  admin::Sources sources{.store = operated.store,
                         .reopening = operated.reopening,
                         .config = [&gateway] { return gateway.plan()->config; },
                         .metrics = [&gateway] { return gateway.metrics().render(); },
                         .upstream_trouble = [&gateway] { return gateway::upstream_trouble(gateway.plan()); },
                         .draining = [&gateway] { return gateway.draining(); },
                         .forget = [&gateway](const Key& key) { gateway.forget(key); },
                         .forgotten_within = gateway::ReplayCache::trusted_for,
                         .desk = operated.desk,
                         .audit = operated.audit,
                         .now = [&clock] { return clock.wall(); },
                         .dispatcher = gateway.dispatcher()};
  const admin::Exposure exposure =
      reading::is_loopback(*config.listen) ? admin::Exposure::loopback : admin::Exposure::network;
  return gateway.listen_beside(*config.listen, std::make_unique<admin::Admin>(std::move(sources), exposure));
}

// The listener of the claims API, beside the gateway's own. Returns its port; 0 if there is none.
Result<std::uint16_t> open_api(gateway::Gateway& gateway, Store& store, store::Lookup* lookup, api::Rates& rates,
                               const config::ApiConfig& config) {
  if (!config.listen) return 0;
  if (lookup == nullptr) return fail(Code::invalid, "[api] needs a store that can look at keys");
  return gateway.listen_for_api(*config.listen, [&store, lookup, &rates](const gateway::Neighbours& neighbours) {
    const api::Ledgers ledgers{.once = neighbours.once, .clock = neighbours.clock, .store = store, .lookup = *lookup};
    return std::make_unique<api::Api>(api::ApiParts{.ledgers = ledgers,
                                                    .rates = rates,
                                                    .metrics = neighbours.metrics,
                                                    .log = neighbours.log,
                                                    .config = neighbours.config});
  });
}

}  // namespace

int run_gateway(const std::shared_ptr<const config::Config>& wanted, const ServeHooks& hooks) {
  if (const std::string missing = unsupported(*wanted); !missing.empty()) {
    fmt::print(stderr, "semel: {}\n", missing);
    return 1;
  }
  const std::shared_ptr<const config::Config> config = within(raise_file_limit(), wanted);
  if (const Result<void> dropped = drop_privileges(config->server.user); !dropped) {
    fmt::print(stderr, "semel: {}\n", dropped.error().detail);
    return 1;
  }
  keep_files_private();
  keep_memory_private();
  const std::unique_ptr<Clock> clock = make_system_clock();
  const auto store_metrics = std::make_shared<telemetry::StoreMetrics>();
  Result<store::CapableStore> store = open_store(*config, *clock, store_metrics);
  if (!store) {
    fmt::print(stderr, "semel: the store cannot be opened: {}\n", store.error().detail);
    return 1;
  }
  for (const std::string& concern : concerns(config->store, *clock)) fmt::print(stderr, "semel: store: {}\n", concern);
  telemetry::LogSink log(STDOUT_FILENO);
  const Operated operated{
      .store = *store->store, .reopening = store->reopening, .desk = store->desk, .audit = store->audit};
  store::Lookup* const lookup = store->lookup;
  api::Rates rates;  // outlives the gateway, which owns what uses it
  auto gateway = gateway::Gateway::open(config, *std::move(store), *clock, log, random_seed(), store_metrics);
  const Result<std::uint16_t> admin_port =
      gateway ? open_admin(**gateway, operated, *clock, config->admin) : std::unexpected(gateway.error());
  const Result<std::uint16_t> api_port = admin_port ? open_api(**gateway, operated.store, lookup, rates, config->api)
                                                    : std::unexpected(admin_port.error());
  if (!api_port) {
    fmt::print(stderr, "semel: {}\n", api_port.error().detail);
    return 1;
  }
  (*gateway)->start();
  hooks.started({.gateway = (*gateway)->port(), .admin = *admin_port, .api = *api_port});
  for (;;) {
    const Signal signal = next_signal(std::chrono::hours(1));
    if (signal == Signal::stop) break;
    if (signal != Signal::reload || !hooks.new_config) continue;
    const std::shared_ptr<const config::Config> next = hooks.new_config();
    if (next == nullptr || !unsupported(*next).empty()) {
      fmt::print(stderr, "semel: not reloaded: the previous configuration stays in force\n");
      continue;
    }
    const Result<void> reloaded = (*gateway)->reload(next);
    fmt::print(stderr, "semel: {}\n", reloaded ? "reloaded" : "not reloaded: " + reloaded.error().detail);
  }
  drain(**gateway);
  if (hooks.ended) hooks.ended(**gateway);
  return 0;
}

void add_serve(CLI::App& app, Command& run) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command = app.add_subcommand("serve", "Run the gateway");
  CLI::Option* file =
      command->add_option("-c,--config", options->config, "Configuration file; conf/semel.toml is the manual");
  CLI::Option* url = command->add_option("--upstream", options->upstream,
                                         "Guard this service; no file needed (http://127.0.0.1:3000)");
  file->excludes(url);
  command->require_option(1, 0);
  command->callback([options, &run] { run = [options] { return serve(*options); }; });
}

}  // namespace semel::cli
