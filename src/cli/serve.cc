// `semel serve`: configuration, store and signals around a gateway.
#include "cli/serve.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "admin/admin.h"
#include "admin/doubt_count.h"
#include "admin/sign_in.h"
#include "admin/sources.h"
#include "api/access.h"
#include "api/api.h"
#include "api/work.h"
#include "cli/background.h"
#include "cli/command.h"
#include "cli/file_room.h"
#include "cli/load.h"
#include "cli/process.h"
#include "cli/signals.h"
#include "cli/stores.h"
#include "config/config.h"
#include "config/restart.h"
#include "core/encoding.h"
#include "gateway/ask_probe.h"
#include "gateway/bookkeeper.h"
#include "gateway/gateway.h"
#include "gateway/plan.h"
#include "gateway/replay_cache.h"
#include "gateway/worker.h"
#include "http/inherited.h"
#include "reading/address.h"
#include "reading/secret.h"
#include "reading/units.h"
#include "store/audit_log.h"
#include "store/capable_store.h"
#include "store/desk.h"
#include "store/history.h"
#include "store/identity.h"
#include "store/lookup.h"
#include "telemetry/metrics.h"
#include "telemetry/process_metrics.h"
#include "telemetry/recent.h"
#include "telemetry/reloads.h"
#include "telemetry/request_log.h"
#include "telemetry/tally_past.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/reopening.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::cli {
namespace {

// Who balances the load is told first, by /readyz, and has this long to send nothing more. A second signal to stop ends
// the wait.
void give_notice(const Clock& clock, Millis notice, std::atomic<bool>& leaving) {
  leaving = true;
  if (notice.count() == 0) return;
  fmt::print(stderr, "semel: stopping: /readyz says 503 for {} from now on, then no connections are accepted\n",
             reading::duration_text(notice));
  const std::chrono::nanoseconds until = clock.stopwatch() + notice;
  for (auto now = clock.stopwatch(); now < until; now = clock.stopwatch()) {
    if (next_signal(std::chrono::ceil<std::chrono::milliseconds>(until - now)) == Signal::stop) return;
  }
}

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
  std::string listen;
  std::string admin;
  std::string data;
};

// The configuration of --upstream, with what other options say. Code::invalid: one of them is wrong; it is named.
Result<config::Config> simple_config(const ServeOptions& options) {
  auto config = config::default_config(options.upstream);
  if (!config) return fail(Code::invalid, "--upstream: " + config.error().detail);
  const auto read = [](const char* option, const std::string& text) -> Result<reading::Endpoint> {
    const auto endpoint = reading::parse_endpoint(text);
    if (!endpoint) return fail(Code::invalid, fmt::format("{}: {}", option, endpoint.error().message));
    return *endpoint;
  };
  if (!options.listen.empty()) {
    const Result<reading::Endpoint> listen = read("--listen", options.listen);
    if (!listen) return std::unexpected(listen.error());
    config->server.listen = *listen;
  }
  if (!options.admin.empty()) {
    const Result<reading::Endpoint> admin = read("--admin", options.admin);
    if (!admin) return std::unexpected(admin.error());
    if (!reading::is_loopback(*admin)) {
      return fail(Code::invalid,
                  "--admin: can be reached from outside, which needs a token; write a configuration file");
    }
    config->admin.listen = *admin;
  }
  if (config->admin.listen == config->server.listen && config->server.listen.port != 0) {
    return fail(Code::invalid, "--listen and --admin are the same address");
  }
  if (!options.data.empty()) config->store.urls.front() = reading::Secret("embedded:" + options.data);
  return config;
}

// Where answers are kept, so that nobody has to look for it when the disk is full.
void say_where(const config::StoreConfig& store) {
  if (store.kind != config::StoreKind::embedded) return;
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::absolute(config::embedded_path(store), error);
  fmt::print(stderr, "semel: keys and answers are kept in {}\n",
             error ? std::string(config::embedded_path(store)) : folder.lexically_normal().string());
}

int serve(const ServeOptions& options) {
  if (options.config.empty() && options.upstream.empty()) {
    fmt::print(stderr, "semel: serve needs a configuration file, or --upstream URL to do without one\n");
    return 2;
  }
  take_over_signals();
  std::shared_ptr<const config::Config> config;
  if (options.upstream.empty()) {
    config = load_config(options.config);
    if (config == nullptr) return 1;
  } else {
    auto simple = simple_config(options);
    if (!simple) {
      fmt::print(stderr, "semel: {}\n", simple.error().detail);
      return 2;
    }
    config = std::make_shared<const config::Config>(*std::move(simple));
  }
  ServeHooks hooks;
  hooks.started = [&](const Ports& ports) {
    say_where(config->store);
    const std::string admin = ports.admin == 0 ? "no admin listener" : fmt::format("admin on port {}", ports.admin);
    if (ports.gateway == 0) {
      const std::string claims = fmt::format("listening on port {} for claims only", ports.api);
      fmt::print(stderr, "semel: {}, {}\n", ports.api == 0 ? "moving what is sent, for no clients" : claims, admin);
      return;
    }
    const std::string api = ports.api == 0 ? std::string() : fmt::format(", claims API on port {}", ports.api);
    fmt::print(stderr, "semel: listening on {}, {}{}\n", reading::endpoint_text(config->server.listen), admin, api);
  };
  hooks.draining = [] { fmt::print(stderr, "semel: draining: no new connections, requests under way are finished\n"); };
  if (options.upstream.empty()) hooks.new_config = [&] { return load_config(options.config); };
  return run_gateway(config, hooks);
}

// The operators' listener, beside the gateway's own. Returns its port; 0 if there is none.
struct Operated {
  Store& store;
  Reopening* reopening;
  store::Desk* desk;
  store::AuditLog* audit;
  bool shared;  // by several processes
  admin::SignIns& sign_ins;
  telemetry::Recent& recent;
  store::History* history;
};

// What is known of the process and not of its gateway.
struct Standing {
  explicit Standing(std::int64_t now) : reloads(now) {}

  telemetry::Reloads reloads;
  std::atomic<bool> leaving{false};
  std::unique_ptr<Background> background;  // outlives the gateway; null until there is one
};

std::string metrics_text(gateway::Gateway& gateway, const Standing& standing) {
  std::string text = gateway.metrics().render();
  gateway.certificates().render(text);
  standing.reloads.render(text);
  telemetry::render_process(text);
  standing.background->render(text);
  return text;
}

Result<std::uint16_t> open_admin(gateway::Gateway& gateway, const Operated& operated, const Standing& standing,
                                 Clock& clock, const config::AdminConfig& config) {
  if (!config.listen) return 0;
  admin::Sources sources{
      .store = operated.store,
      .reopening = operated.reopening,
      .config = [&gateway] { return gateway.plan()->config; },
      .metrics = [&gateway, &standing] { return metrics_text(gateway, standing); },
      .upstreams = [&gateway] { return gateway::upstream_states(gateway.plan()); },
      .draining = [&gateway, &standing] { return standing.leaving || gateway.draining(); },
      .forget = [&gateway](Key key) { return gateway.forget(std::move(key)); },
      .forgotten_within = operated.shared ? gateway::ReplayCache::trusted_for : Millis{0},
      .desk = operated.desk,
      .audit = operated.audit,
      .now = [&clock] { return clock.wall(); },
      .probe = [&gateway](gateway::ProbeQuestion asked) { return ask_probe(gateway.plan(), std::move(asked)); },
      .doubts = operated.desk == nullptr ? nullptr : std::make_shared<admin::DoubtCount>(*operated.desk),
      .sign_ins = &operated.sign_ins,
      .recent = &operated.recent,
      .moment = [&] { return telemetry::moment_of(gateway.metrics(), clock.wall()); },
      .history = operated.history,
      .tail = &gateway.tail(),
      .clock = &clock,
      .tally = [&gateway](telemetry::TallyQuestion question) { return gateway.books().tally(std::move(question)); },
      .findings = [&gateway](Time from) { return gateway.books().findings(from); },
      .dispatcher = gateway.dispatcher(),
      .outboxes = standing.background->outboxes(),
      .webhooks = &gateway.metrics().webhooks,
      .audits = standing.background->audits()};
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
                                                    .config = neighbours.config,
                                                    .sighted = neighbours.sighted});
  });
}

// What the claims API needs.
struct ServedApi {
  store::Lookup* lookup;
  api::Rates& rates;
};

// Everything beside the gateway's own listener. Nothing is answered yet.
Result<Ports> open_rest(gateway::Gateway& gateway, const Operated& operated, const Standing& standing,
                        const ServedApi& api, Clock& clock, const config::Config& config) {
  const Result<std::uint16_t> admin_port = open_admin(gateway, operated, standing, clock, config.admin);
  if (!admin_port) return std::unexpected(admin_port.error());
  const Result<std::uint16_t> api_port = open_api(gateway, operated.store, api.lookup, api.rates, config.api);
  if (!api_port) return std::unexpected(api_port.error());
  return Ports{.gateway = gateway.port(), .admin = *admin_port, .api = *api_port};
}

Operated operated_of(const store::CapableStore& store, const config::Config& config, admin::SignIns& sign_ins,
                     telemetry::Recent& recent) {
  const config::StoreKind kind = config.store.kind;
  return {.store = *store.store,
          .reopening = store.reopening,
          .desk = store.desk,
          .audit = store.audit,
          .shared = kind != config::StoreKind::embedded && kind != config::StoreKind::memory,
          .sign_ins = sign_ins,
          .recent = recent,
          .history = store.history};
}

std::int64_t unix_seconds(const Clock& clock) {
  return std::chrono::floor<std::chrono::seconds>(clock.wall()).time_since_epoch().count();
}

// Says what came of it, and which options of `next` this process cannot take over. `started` is what it was started
// with.
bool reload(gateway::Gateway& gateway, const config::Config& started,
            const std::shared_ptr<const config::Config>& next) {
  if (next == nullptr || !unsupported(*next).empty()) {
    fmt::print(stderr, "semel: not reloaded: the previous configuration stays in force\n");
    return false;
  }
  const Result<void> reloaded = gateway.reload(next);
  fmt::print(stderr, "semel: {}\n", reloaded ? "reloaded" : "not reloaded: " + reloaded.error().detail);
  const std::vector<std::string> waiting = config::changed_for_restart(started, *next);
  if (reloaded && !waiting.empty()) {
    fmt::print(stderr, "semel: these options have changed and need a restart: {}\n", fmt::join(waiting, ", "));
  }
  return reloaded.has_value();
}

// A socket that nobody accepts on keeps its clients waiting for ever.
void say_unused(const http::Inherited& inherited, const config::Config& config) {
  for (const std::uint16_t port : inherited.ports()) {
    const bool used = config.server.listen.port == port || (config.admin.listen && config.admin.listen->port == port) ||
                      (config.api.listen && config.api.listen->port == port);
    if (used) continue;
    fmt::print(stderr, "semel: a socket for port {} was passed on (semel.socket), but nothing listens on that port\n",
               port);
  }
}

int refuse(std::string_view why) {
  fmt::print(stderr, "semel: {}\n", why);
  return 1;
}

}  // namespace

int run_gateway(const std::shared_ptr<const config::Config>& wanted, const ServeHooks& hooks) {
  if (const std::string missing = unsupported(*wanted); !missing.empty()) return refuse(missing);
  const std::shared_ptr<const config::Config> config = within(raise_file_limit(), wanted);
  const Result<void> dropped = drop_privileges(config->server.user);
  if (!dropped) return refuse(dropped.error().detail);
  Result<http::Inherited> inherited = inherited_sockets();
  if (!inherited) return refuse("LISTEN_FDS: " + inherited.error().detail);
  say_unused(*inherited, *config);
  keep_files_private();
  keep_memory_private();
  const std::unique_ptr<Clock> clock = make_system_clock();
  const auto store_metrics = std::make_shared<telemetry::StoreMetrics>();
  Result<store::CapableStore> store = open_store(*config, *clock, store_metrics);
  if (!store) return refuse("the store cannot be opened: " + store.error().detail);
  for (const std::string& concern : concerns(*config, *clock)) fmt::print(stderr, "semel: store: {}\n", concern);
  telemetry::LogSink log(STDOUT_FILENO);
  admin::SignIns sign_ins(core::to_hex(store::random_salt()) + core::to_hex(store::random_salt()));
  telemetry::Recent recent;
  const Operated operated = operated_of(*store, *config, sign_ins, recent);
  Standing standing(unix_seconds(*clock));
  store::Lookup* const lookup = store->lookup;
  const BackgroundStore used(*store);
  api::Rates rates;  // outlives the gateway, which owns what uses it
  auto gateway = gateway::Gateway::open(config, *std::move(store), *clock, log, random_seed(), store_metrics,
                                        *std::move(inherited));
  if (!gateway) return refuse(gateway.error().detail);
  auto background = Background::open(*config, used, **gateway, *clock, random_seed());
  if (!background) return refuse(background.error().detail);
  standing.background = *std::move(background);
  const Result<Ports> ports = open_rest(**gateway, operated, standing, {lookup, rates}, *clock, *config);
  if (!ports) return refuse(ports.error().detail);
  (*gateway)->start();
  standing.background->start();
  hooks.started(*ports);
  Millis notice = config->limits.drain_notice;
  for (;;) {
    recent.add(telemetry::moment_of((*gateway)->metrics(), clock->wall()));
    const Signal signal = next_signal(telemetry::Recent::step);
    if (signal == Signal::stop) break;
    if (signal != Signal::reload || !hooks.new_config) continue;
    const std::shared_ptr<const config::Config> next = hooks.new_config();
    const bool taken = reload(**gateway, *wanted, next);
    if (taken) notice = next->limits.drain_notice;
    if (taken) standing.reloads.succeeded(unix_seconds(*clock));
    if (!taken) standing.reloads.failed();
  }
  give_notice(*clock, notice, standing.leaving);
  if (hooks.draining) hooks.draining();
  standing.background->stop();
  drain(**gateway);
  if (hooks.ended) hooks.ended(**gateway);
  return 0;
}

void add_serve(CLI::App& app, Command& run) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command = app.add_subcommand("serve", "Run the gateway");
  CLI::Option* file =
      command->add_option("file,-c,--config", options->config, "Configuration file; conf/semel.toml is the manual");
  CLI::Option* url = command->add_option("--upstream", options->upstream,
                                         "Guard this service; no file needed (http://127.0.0.1:3000)");
  command->add_option("--listen", options->listen, "Where clients connect (127.0.0.1:8080)")->needs(url);
  command->add_option("--admin", options->admin, "Where operators connect (127.0.0.1:9080)")->needs(url);
  command->add_option("--data", options->data, "The folder for keys and answers (./semel-data)")->needs(url);
  file->excludes(url);
  command->callback([options, &run] { run = [options] { return serve(*options); }; });
}

}  // namespace semel::cli
