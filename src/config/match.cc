#include "config/match.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "config/config.h"
#include "core/ascii.h"
#include "policy/pattern.h"
#include "policy/route.h"
#include "webhook/webhook.h"
#include <semel/http_request.h>

namespace semel::config {
namespace {

bool matches_a_webhook(const Config& config, std::string_view plain) {
  return std::ranges::any_of(config.webhooks,
                             [&](const webhook::Webhook& one) { return one.plain_path.matches(plain); });
}

bool spells_a_webhook(const Config& config, std::string_view path) {
  if (config.webhooks.empty()) return false;
  return policy::is_plainest(path) ? matches_a_webhook(config, path)
                                   : matches_a_webhook(config, policy::plainest(path));
}

}  // namespace

Match match(const Config& config, std::string_view method, std::string_view path) {
  for (const webhook::Webhook& webhook : config.webhooks) {
    if (!webhook.path.matches(path)) continue;
    if (const auto why = policy::doubtful_path(path)) return DoubtfulPath{*why};
    return WebhookCall{&webhook};
  }
  for (const policy::Route& route : config.routes) {
    if (!route.path.matches(path)) continue;
    // A route for everything also leads to the webhook's handler, which would then get requests that nobody has
    // verified.
    if (!route.path.literal() && spells_a_webhook(config, path)) {
      return DoubtfulPath{"another spelling of a webhook's path"};
    }
    if (route.key == KeyMode::off) return Unguarded{&route};
    if (!lists(route, method)) {
      if (misspelled(route, method)) return MisspelledMethod{};
      return Unguarded{&route};
    }
    if (const auto why = policy::doubtful_path(path)) return DoubtfulPath{*why};
    return Guarded{&route};
  }
  return NoRoute{};
}

bool lists(const policy::Route& route, std::string_view method) {
  return std::ranges::find(route.methods, method) != route.methods.end();
}

bool misspelled(const policy::Route& route, std::string_view method) {
  return std::ranges::any_of(route.methods,
                             [&](const std::string& one) { return core::equal_ignoring_case(one, method); });
}

}  // namespace semel::config
