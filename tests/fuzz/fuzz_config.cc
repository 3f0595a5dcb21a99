// Fuzzes the reader of configuration files.
//
// Whatever the bytes are, there is either a configuration that keeps its promises to those who use it, or at least one
// error; every issue has a place inside the file and a message that a terminal can show.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/match.h"
#include "config/parse.h"
#include "core/ascii.h"
#include "core/check.h"

namespace {

class Resolver : public semel::reading::Resolver {
 public:
  [[nodiscard]] std::optional<std::string> environment(const std::string& name) const override {
    return name.empty() ? std::nullopt : std::optional<std::string>(std::string(64, 'a'));
  }
  [[nodiscard]] semel::Result<std::string> file(const std::string& path) const override {
    if (path.empty()) return semel::fail(semel::Code::unavailable, "no such file");
    return path;
  }
};

void check_issues(const std::vector<semel::reading::Issue>& issues, std::string_view text) {
  const auto lines = static_cast<std::uint32_t>(std::ranges::count(text, '\n')) + 1;
  for (const semel::reading::Issue& issue : issues) {
    semel::core::check(issue.at.line >= 1 && issue.at.line <= lines, "an issue is in the file");
    semel::core::check(issue.at.column >= 1, "columns count from 1");
    semel::core::check(!issue.message.empty(), "an issue says something");
    semel::core::check(std::ranges::none_of(semel::reading::to_text(issue), semel::core::is_control),
                       "an issue can be shown");
  }
}

void check_config(const semel::config::Config& config) {
  semel::core::check(!config.routes.empty() || !config.webhooks.empty(), "there is something to do");
  semel::core::check(!config.store.urls.empty(), "there is a store");
  for (const semel::config::UpstreamConfig& upstream : config.upstreams) {
    semel::core::check(!upstream.urls.empty(), "an upstream has an address");
  }
  for (const semel::policy::Route& route : config.routes) {
    semel::core::check(route.target.upstream < config.upstreams.size(), "a route's upstream exists");
    semel::core::check(route.target.policy.lease <= route.target.policy.ttl, "a lease ends before its key");
    semel::core::check(!route.methods.empty() && !route.path.text.empty(), "a route is complete");
    semel::core::check(route.target.policy.on_unknown != semel::Policy::OnUnknown::probe || route.probe,
                       "a probe has a target");
  }
  for (const semel::webhook::Webhook& webhook : config.webhooks) {
    semel::core::check(webhook.target.upstream < config.upstreams.size(), "a webhook's upstream exists");
    semel::core::check(webhook.space.size() <= semel::space_bytes_max, "a webhook has a namespace");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Resolver resolver;
  const auto parsed = semel::config::parse_config(text, "f", resolver);
  check_issues(parsed ? parsed->warnings : parsed.error(), text);
  if (parsed) {
    check_config(parsed->config);
    semel::config::match(parsed->config, "POST", text.substr(0, 64));
  } else {
    const auto is_error = [](const semel::reading::Issue& issue) {
      return issue.severity == semel::reading::Severity::error;
    };
    semel::core::check(std::ranges::any_of(parsed.error(), is_error), "what is refused is refused for a reason");
  }
  semel::config::survey_config(text, resolver);
  return 0;
}
