#include "gateway/rate_limiter.h"

#include <cstddef>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "http/network.h"
#include "reading/units.h"
#include "webhook/webhook.h"
#include <semel/clock.h>

namespace semel::gateway {
namespace {

constexpr std::size_t addresses_max = 10'000;

}  // namespace

std::optional<Millis> RateLimiter::take(const webhook::Webhook& webhook, std::string_view address, Time now) {
  if (!webhook.rate_limit && !webhook.rate_limit_per_ip) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  // An address that sends too much must not use up what there is for the others.
  if (webhook.rate_limit_per_ip) {
    const std::string known = http::network_of(address);
    if (by_address_.size() >= addresses_max && !by_address_.contains(known)) make_room(*webhook.rate_limit_per_ip, now);
    const auto wait = by_address_[known].take(*webhook.rate_limit_per_ip, now);
    if (wait) return wait;
  }
  return webhook.rate_limit ? all_.take(*webhook.rate_limit, now) : std::nullopt;
}

void RateLimiter::make_room(const reading::Rate& rate, Time now) {
  for (auto at = by_address_.begin(); at != by_address_.end();) {
    at = at->second.is_full(rate, now) ? by_address_.erase(at) : std::next(at);
  }
  if (by_address_.size() >= addresses_max) by_address_.clear();  // the limit for all of them still holds
}

RateLimiter& RateLimiters::of(std::string_view path, std::string_view provider) {
  const std::scoped_lock lock(mutex_);
  return limiters_[{std::string(path), std::string(provider)}];
}

}  // namespace semel::gateway
