// New keys, counted for their scope. Events of webhooks have rates of their own and one sender.
#include <cstddef>
#include <numeric>

#include "config/config.h"
#include "gateway/exchange.h"
#include "gateway/quotas.h"
#include <semel/clock.h>
#include <semel/once.h>
#include <semel/response.h>

namespace semel::gateway {
namespace {

std::size_t stored_bytes(const Response& response) {
  const auto add = [](std::size_t sum, const Field& field) { return sum + field.name.size() + field.value.size(); };
  return std::accumulate(response.fields.begin(), response.fields.end(), response.body.size(), add);
}

}  // namespace

bool Exchange::over_quota() {
  if (webhook_ != nullptr || services_.glance == nullptr || !Quotas::wanted(config().limits)) return false;
  const auto refusal = services_.quotas.refusal(key_->scope, config().limits, services_.clock.now());
  if (refusal && services_.glance->surely_free(*key_)) over_quota_ = refusal;
  return over_quota_.has_value();
}

bool Exchange::admit(const policy::Target& target) {
  if (webhook_ != nullptr || !Quotas::wanted(config().limits)) return true;
  const Time now = services_.clock.now();
  counted_until_ = now + target.policy.ttl;
  over_quota_ = services_.quotas.admit(key_->scope, config().limits, now, counted_until_, target.policy.ttl);
  return !over_quota_;
}

void Exchange::settle(const policy::Target& target, const Outcome& outcome) {
  if (counted_until_ == Time{}) return;
  if (outcome.verdict == Verdict::release) {
    services_.quotas.give_back(key_->scope, counted_until_, target.policy.ttl);
  } else if (outcome.verdict == Verdict::keep) {
    services_.quotas.keep(key_->scope, counted_until_, target.policy.ttl, stored_bytes(*outcome.response));
  }
}

}  // namespace semel::gateway
