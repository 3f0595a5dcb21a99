// `semel check`: what is wrong with a configuration, and what it means for callers.
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/audits.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/redis_report.h"
#include "cli/resolving.h"
#include "cli/stores.h"
#include "config/config.h"
#include "gateway/tls_set.h"
#include "http/certificate.h"
#include "inbox/destination.h"
#include "policy/route.h"
#include "reading/address.h"
#include "reading/units.h"
#include "webhook/webhook.h"
#include <semel/clock.h>
#include <semel/http_request.h>
#include <semel/once.h>
#include <semel/result.h>

namespace semel::cli {
namespace {

std::string_view unknown_text(Policy::OnUnknown what) {
  switch (what) {
    case Policy::OnUnknown::hold:
      return "an unknown outcome holds";
    case Policy::OnUnknown::retry:
      return "an unknown outcome runs again";
    case Policy::OnUnknown::probe:
      break;
  }
  return "an unknown outcome is asked about";
}

// What a caller may rely on here, in one line.
std::string protection(const policy::Route& route) {
  if (route.key == KeyMode::off) return "NOT guarded (key = \"off\")";
  const Policy& policy = route.target.policy;
  const std::string by = fmt::format("{} {}, of {}, for {}, {}", route.key_from.text,
                                     route.key == KeyMode::required ? "(required)" : "(if there is one)",
                                     route.scope.text.empty() ? "everybody (scope = \"\")" : "each " + route.scope.text,
                                     reading::duration_text(policy.ttl), unknown_text(policy.on_unknown));
  if (route.mode == policy::Mode::observe) return "NOT guarded, only watched (mode = \"observe\"): by " + by;
  return "guarded by " + by;
}

// Where deliveries go, and by which filter.
std::string inbox_text(const config::Config& config, const inbox::InboxRules& intake) {
  std::string text = "through the inbox, to";
  for (const inbox::Outlet& outlet : intake.deliver) {
    const inbox::Destination& to = config.destinations[outlet.to];
    text += fmt::format("{} {} ({})", &outlet == &intake.deliver.front() ? "" : ",", to.name,
                        config.upstreams[to.upstream].name);
    if (outlet.when) text += " when " + outlet.when->text();
  }
  if (intake.order == inbox::EventOrder::none) return text;
  return text + (intake.order == inbox::EventOrder::fifo ? "; in order" : "; none behind a newer one");
}

// What a token may do, in words.
std::string api_terms(const config::ApiToken& token) {
  std::string terms = "; may";
  if (token.may.claim) terms += " claim";
  if (token.may.end) terms += " end";
  if (token.may.get) terms += " get";
  if (token.scope) terms += "; one scope only";
  terms += fmt::format("; lease up to {}, ttl up to {}", reading::duration_text(token.lease_max),
                       reading::duration_text(token.ttl_max));
  if (token.rate) terms += fmt::format("; {} items", reading::rate_text(*token.rate));
  return terms;
}

struct CheckOptions {
  std::string file;
  bool no_secrets = false;
  bool accept_loss = false;
};

int check_config(const CheckOptions& options) {
  const std::string& path = options.file;
  const auto config = load_config(path, options.no_secrets ? Secrets::may_be_missing : Secrets::needed);
  if (config == nullptr) return 1;
  if (const std::string missing = unsupported(*config); !missing.empty()) {
    fmt::print(stderr, "{}: {}\n", path, missing);
    return 1;
  }
  const Result<gateway::TlsSet> tls = options.no_secrets ? gateway::TlsSet{} : gateway::load_tls(*config);
  if (!tls) {
    fmt::print(stderr, "{}: {}\n", path, tls.error().detail);
    return 1;
  }
  fmt::print("{}: fine: {} upstream(s), {} webhook(s), {} route(s)\n", path, config->upstreams.size(),
             config->webhooks.size(), config->routes.size());
  for (const webhook::Webhook& webhook : config->webhooks) {
    fmt::print("  {} {} -> {}\n      each event once, for {}\n", webhook.provider, webhook.path.text,
               config->upstreams[webhook.target.upstream].name, reading::duration_text(webhook.target.policy.ttl));
    if (webhook.intake) fmt::print("      {}\n", inbox_text(*config, *webhook.intake));
  }
  for (std::size_t i = 0; i < config->routes.size(); ++i) {
    const policy::Route& route = config->routes[i];
    fmt::print("  {} {} -> {}\n      {}\n", fmt::format("{}", fmt::join(route.methods, ",")), route.path.text,
               config->upstreams[route.target.upstream].name, protection(route));
    const std::optional<inbox::InboxRules> none;
    const auto& intake = i < config->route_intakes.size() ? config->route_intakes[i] : none;
    if (intake) fmt::print("      {}\n", inbox_text(*config, *intake));
  }
  for (const config::OutboxConfig& outbox : config->outboxes) {
    fmt::print("  outbox {} -> {}\n      each effect once, for {}\n", outbox.name, fmt::join(outbox.deliver, ", "),
               reading::duration_text(outbox.ttl));
  }
  if (const auto& listen = config->api.listen) fmt::print("  claims API on {}\n", reading::endpoint_text(*listen));
  for (const config::ApiToken& token : config->api.tokens) {
    fmt::print("  token {}: {}{}\n", token.name, fmt::join(token.namespaces, ", "), api_terms(token));
  }
  if (const auto& files = config->server.tls; files && !options.no_secrets) {
    const auto facts = http::look_at_certificate(files->cert);
    if (facts) fmt::print("  TLS with the certificate of {}\n", facts->text);
  }
  if (options.no_secrets) {
    fmt::print("  not looked at (--no-secrets): secrets that are missing here, certificates, the store\n");
    return 0;
  }
  const std::unique_ptr<Clock> clock = make_system_clock();
  if (is_redis(config->store.kind) && !report_redis(*config, *clock)) return 1;
  for (const std::string& concern : concerns(*config, *clock)) {
    fmt::print(stderr, "{}: warning: store: {}\n", path, concern);
  }
  const bool audits = check_audits(*config, path, *clock);
  const bool resolvers = check_resolvers(*config, path, *clock);
  return audits && resolvers ? 0 : 1;
}

int accept_loss(const std::string& path) {
  const auto config = load_config(path);
  if (config == nullptr) return 1;
  if (!is_redis(config->store.kind)) {
    fmt::print(stderr, "{}: store.url is not a Redis store, which is the only one that can lose calls\n", path);
    return 1;
  }
  const std::unique_ptr<Clock> clock = make_system_clock();
  return accept_redis_loss(*config, *clock) ? 0 : 1;
}

}  // namespace

void add_check(CLI::App& app, Command& run) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command = app.add_subcommand("check", "Read a configuration and say everything that is wrong with it");
  command->add_option("file,-c,--config", options->file, "Configuration file")->required();
  command->add_flag("--no-secrets", options->no_secrets,
                    "For pipelines: secrets (env:, file:) and certificates may be missing");
  command->add_flag("--accept-loss", options->accept_loss,
                    "Redis with on_loss = \"stop\": print the calls that were lost, and let gateways take new keys");
  command->callback([options, &run] {
    run = [options] { return options->accept_loss ? accept_loss(options->file) : check_config(*options); };
  });
}

}  // namespace semel::cli
