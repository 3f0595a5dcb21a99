#include "gateway/allowance.h"

#include <cstddef>
#include <numeric>
#include <optional>

#include "gateway/incoming.h"
#include "gateway/job.h"
#include "gateway/quotas.h"
#include "store/glance.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/response.h>

namespace semel::gateway {
namespace {

std::size_t stored_bytes(const Response& response) {
  const auto add = [](std::size_t sum, const Field& field) { return sum + field.name.size() + field.value.size(); };
  return std::accumulate(response.fields.begin(), response.fields.end(), response.body.size(), add);
}

}  // namespace

Allowance::Allowance(const Incoming& incoming, const Job& job)
    : incoming_(incoming), job_(job), counts_(job.webhook == nullptr && Quotas::wanted(incoming.config().limits)) {}

std::optional<Quotas::Refusal> Allowance::refusal() const {
  store::Glance* const glance = incoming_.services.glance;
  if (!counts_ || glance == nullptr) return std::nullopt;
  const Key& key = job_.identity.key;
  auto refusal =
      incoming_.services.quotas.refusal(key.scope, incoming_.config().limits, incoming_.services.clock.now());
  if (!refusal || !glance->surely_free(key)) return std::nullopt;
  return refusal;
}

std::optional<Quotas::Refusal> Allowance::admit() {
  if (!counts_) return std::nullopt;
  const Time now = incoming_.services.clock.now();
  const Millis ttl = job_.target->policy.ttl;
  auto refusal =
      incoming_.services.quotas.admit(job_.identity.key.scope, incoming_.config().limits, now, now + ttl, ttl);
  if (!refusal) counted_until_ = now + ttl;
  return refusal;
}

void Allowance::settle(const Outcome& outcome) {
  if (!counted_until_) return;
  Quotas& quotas = incoming_.services.quotas;
  const auto& scope = job_.identity.key.scope;
  const Millis ttl = job_.target->policy.ttl;
  if (outcome.verdict == Verdict::release) quotas.give_back(scope, *counted_until_, ttl);
  if (outcome.verdict == Verdict::keep) quotas.keep(scope, *counted_until_, ttl, stored_bytes(*outcome.response));
}

}  // namespace semel::gateway
