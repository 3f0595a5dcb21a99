// `semel demo`: a payments API that is not safe to retry, and Semel in front of it, in one process.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>
#include <stdlib.h>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/demo/payments.h"
#include "cli/demo/text.h"
#include "cli/process.h"
#include "cli/serve.h"
#include "cli/signals.h"
#include "config/config.h"
#include "gateway/gateway.h"
#include "policy/pattern.h"
#include "policy/route.h"
#include "reading/address.h"
#include "reading/secret.h"
#include "telemetry/metrics.h"
#include <semel/clock.h>
#include <semel/http_request.h>
#include <semel/result.h>

namespace semel::cli {
namespace {

constexpr const char* here = "127.0.0.1";
constexpr const char* guarded_path = "/v1/*";
constexpr const char* port_advice = "semel: other ports: --port, --admin-port, --api-port (0: any that is free)\n";

struct DemoOptions {
  std::uint16_t port = 8080;
  std::uint16_t admin_port = 9080;
  std::uint16_t api_port = 8081;
  std::string data;
  bool without = false;
  bool log = false;
};

// A folder that is deleted with this object.
class TemporaryFolder {
 public:
  static std::unique_ptr<TemporaryFolder> make() {
    std::error_code error;
    std::string path = (std::filesystem::temp_directory_path(error) / "semel-demo-XXXXXX").string();
    if (error || mkdtemp(path.data()) == nullptr) return nullptr;
    return std::make_unique<TemporaryFolder>(std::move(path));
  }
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

void print(const std::string& text) {
  fmt::print("{}", text);
  static_cast<void>(std::fflush(stdout));  // it may go to a pipe whose reader waits for it
}

// Every POST below /v1 needs a key; everything else passes through.
std::shared_ptr<const config::Config> demo_config(const DemoOptions& options, std::uint16_t api_port,
                                                  const std::string& data) {
  Result<config::Config> config = config::default_config(fmt::format("http://{}:{}", here, api_port));
  if (!config) return nullptr;
  config->server.listen = {.host = here, .port = options.port};
  config->admin.listen = reading::Endpoint{.host = here, .port = options.admin_port};
  config->store.urls = {reading::Secret("embedded:" + data)};
  config->log.requests = options.log;
  policy::Route guarded = config->routes.front();
  guarded.path = policy::pattern(guarded_path);
  guarded.key = KeyMode::required;
  config->routes.insert(config->routes.begin(), std::move(guarded));
  return std::make_shared<const config::Config>(*std::move(config));
}

// Requests that could have charged something: all below /v1 that did not just pass through.
std::uint64_t requests_of(gateway::Gateway& gateway) {
  const telemetry::RouteMetrics& route = gateway.metrics().route(guarded_path);
  const std::uint64_t passed = route.by_ending.at(static_cast<std::size_t>(telemetry::Ending::passed));
  return std::accumulate(route.by_ending.begin(), route.by_ending.end(), std::uint64_t{0}) - passed;
}

int with_semel(const DemoOptions& options, PaymentsApi& api) {
  std::unique_ptr<TemporaryFolder> folder;
  if (options.data.empty()) {
    folder = TemporaryFolder::make();
    if (!folder) {
      fmt::print(stderr, "semel: no temporary folder can be made; name one with --data\n");
      return 1;
    }
  }
  const auto config = demo_config(options, api.port(), folder ? folder->path() : options.data);
  std::uint64_t requests = 0;
  bool started = false;
  ServeHooks hooks;
  hooks.started = [&](const Ports& ports) {
    started = true;
    print(demo_text(
        {.program = program_path(), .port = ports.gateway, .admin_port = ports.admin, .api_port = api.port()}));
  };
  hooks.ended = [&](gateway::Gateway& gateway) { requests = requests_of(gateway); };
  const int status = run_gateway(config, hooks);
  if (started) {
    print("\n" + demo_farewell(requests, api.stop().payments));
  } else {
    fmt::print(stderr, "{}", port_advice);
  }
  return status;
}

int without_semel(PaymentsApi& api) {
  print(demo_text_without({.program = program_path(), .port = api.port()}));
  while (next_signal(std::chrono::hours(1)) != Signal::stop) {
  }
  const PaymentsApi::Totals totals = api.stop();
  print("\n" + demo_farewell(totals.requests, totals.payments));
  return 0;
}

int demo(const DemoOptions& options) {
  take_over_signals();
  const std::unique_ptr<Clock> clock = make_system_clock();
  const reading::Endpoint endpoint{.host = here, .port = options.without ? options.port : options.api_port};
  const Result<std::unique_ptr<PaymentsApi>> api = PaymentsApi::start(*clock, endpoint);
  if (!api) {
    fmt::print(stderr, "semel: {}\n{}", api.error().detail, port_advice);
    return 1;
  }
  return options.without ? without_semel(**api) : with_semel(options, **api);
}

}  // namespace

void add_demo(CLI::App& app, Command& run) {
  auto options = std::make_shared<DemoOptions>();
  CLI::App* command =
      app.add_subcommand("demo", "Start a payments API that is not safe to retry, and Semel in front of it");
  command->add_flag("--without", options->without, "Only the payments API, to see it charge twice");
  command->add_option("--port", options->port, "What clients call")->capture_default_str();
  command->add_option("--admin-port", options->admin_port, "For operators")->capture_default_str();
  command->add_option("--api-port", options->api_port, "The payments API behind Semel")->capture_default_str();
  command->add_option("--data", options->data, "Folder for the keys; by default a temporary one, deleted at the end");
  command->add_flag("--log", options->log, "Print one JSON line per request");
  command->callback([options, &run] { run = [options] { return demo(*options); }; });
}

}  // namespace semel::cli
