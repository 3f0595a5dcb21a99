#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.h"
#include "cli/load.h"
#include "cli/stores.h"
#include "gateway/tls_set.h"
#include "policy/route.h"
#include "webhook/webhook.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::cli {
namespace {

int check_config(const std::string& path) {
  const auto config = load_config(path);
  if (config == nullptr) return 1;
  if (const std::string missing = unsupported(*config); !missing.empty()) {
    fmt::print(stderr, "{}: {}\n", path, missing);
    return 1;
  }
  if (const Result<gateway::TlsSet> tls = gateway::load_tls(*config); !tls) {
    fmt::print(stderr, "{}: {}\n", path, tls.error().detail);
    return 1;
  }
  fmt::print("{}: fine: {} upstream(s), {} webhook(s), {} route(s)\n", path, config->upstreams.size(),
             config->webhooks.size(), config->routes.size());
  for (const webhook::Webhook& webhook : config->webhooks) {
    fmt::print("  {} {} -> {}\n", webhook.provider, webhook.path.text, config->upstreams[webhook.target.upstream].name);
  }
  for (const policy::Route& route : config->routes) {
    fmt::print("  {} {} -> {}\n", fmt::format("{}", fmt::join(route.methods, ",")), route.path.text,
               config->upstreams[route.target.upstream].name);
  }
  const std::unique_ptr<Clock> clock = make_system_clock();
  for (const std::string& concern : concerns(config->store, *clock)) {
    fmt::print(stderr, "{}: warning: store: {}\n", path, concern);
  }
  return 0;
}

}  // namespace

void add_check(CLI::App& app, Command& run) {
  auto path = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("check", "Read a configuration and say everything that is wrong with it");
  command->add_option("file", *path, "Configuration file")->required();
  command->callback([path, &run] { run = [path] { return check_config(*path); }; });
}

}  // namespace semel::cli
