#include "policy/route.h"

#include <algorithm>
#include <string_view>

#include "policy/config.h"
#include "policy/pattern.h"
#include <semel/http_request.h>

namespace semel {

Match match(const Config& config, std::string_view method, std::string_view path) {
  for (const Webhook& webhook : config.webhooks) {
    if (!webhook.path.matches(path)) continue;
    if (const auto why = doubtful_path(path)) return DoubtfulPath{*why};
    return WebhookCall{&webhook};
  }
  for (const Route& route : config.routes) {
    if (!route.path.matches(path)) continue;
    const bool listed = std::ranges::find(route.methods, method) != route.methods.end();
    if (!listed || route.key == KeyMode::off) return Unguarded{&route};
    if (const auto why = doubtful_path(path)) return DoubtfulPath{*why};
    return Guarded{&route};
  }
  return NoRoute{};
}

}  // namespace semel
