// Counts a key for its scope, and for the client's address as long as the scope may have been made up.
#include "gateway/allowance.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "core/ascii.h"
#include "core/sha256.h"
#include "gateway/incoming.h"
#include "gateway/job.h"
#include "gateway/quotas.h"
#include "http/network.h"
#include "policy/forward.h"
#include "policy/request_view.h"
#include "store/glance.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/response.h>

namespace semel::gateway {
namespace {

constexpr std::uint16_t first_error = 400;

std::size_t stored_bytes(const Response& response) {
  const auto add = [](std::size_t sum, const Field& field) { return sum + field.name.size() + field.value.size(); };
  return std::accumulate(response.fields.begin(), response.fields.end(), response.body.size(), add);
}

// The client's network. A proxy in front of us has put it last; without one, nobody's word counts.
std::string client_network(const Incoming& incoming) {
  std::string_view address = incoming.request.ip;
  if (incoming.config().server.forwarded == policy::Forwarded::append) {
    const std::vector<std::string_view> lines = policy::lines_of(incoming.request.fields, "X-Forwarded-For");
    const std::string_view last = lines.empty() ? std::string_view() : lines.back();
    const std::string_view named = core::trimmed(last.substr(last.rfind(',') + 1));
    if (!named.empty()) address = named;
  }
  return http::network_of(address);
}

// Scopes of callers are hashes of other texts.
ScopeDigest digest_of(const std::string& network) {
  const Digest whole = core::sha256("semel address " + network);
  ScopeDigest half;
  std::ranges::copy_n(whole.begin(), half.size(), half.begin());
  return half;
}

}  // namespace

Allowance::Allowance(const Incoming& incoming, const Job& job)
    : incoming_(incoming), job_(job), counts_(job.webhook == nullptr && Quotas::wanted(incoming.config().limits)) {}

std::optional<Quotas::Refusal> Allowance::refusal() const {
  store::Glance* const glance = incoming_.services.glance;
  if (!counts_ || glance == nullptr) return std::nullopt;
  Quotas& quotas = incoming_.services.quotas;
  const config::LimitsConfig& limits = incoming_.config().limits;
  const Key& key = job_.identity.key;
  const Time now = incoming_.services.clock.now();
  auto refusal = quotas.refusal(key.scope, limits, now);
  if (!refusal && !quotas.proven(key.scope)) {
    refusal = quotas.refusal(digest_of(client_network(incoming_)), limits, now);
  }
  if (!refusal || !glance->surely_free(key)) return std::nullopt;
  return refusal;
}

std::optional<Quotas::Refusal> Allowance::admit() {
  if (!counts_) return std::nullopt;
  Quotas& quotas = incoming_.services.quotas;
  const config::LimitsConfig& limits = incoming_.config().limits;
  const ScopeDigest& scope = job_.identity.key.scope;
  const Time now = incoming_.services.clock.now();
  const Millis ttl = job_.target->policy.ttl;
  if (!quotas.proven(scope)) {
    const ScopeDigest address = digest_of(client_network(incoming_));
    if (const auto refusal = quotas.admit(address, limits, now, now + ttl, ttl)) return refusal;
    stranger_ = address;
  }
  auto refusal = quotas.admit(scope, limits, now, now + ttl, ttl);
  if (refusal && stranger_) quotas.give_back(*stranger_, now + ttl, ttl);
  if (!refusal) counted_until_ = now + ttl;
  return refusal;
}

void Allowance::settle(const Outcome& outcome) {
  if (!counted_until_) return;
  Quotas& quotas = incoming_.services.quotas;
  const Time until = *counted_until_;
  const Millis ttl = job_.target->policy.ttl;
  const ScopeDigest& scope = job_.identity.key.scope;
  const auto settle_for = [&](const ScopeDigest& counted) {
    if (outcome.verdict == Verdict::release) quotas.give_back(counted, until, ttl);
    if (outcome.verdict == Verdict::keep) quotas.keep(counted, until, ttl, stored_bytes(*outcome.response));
  };
  settle_for(scope);
  if (stranger_) settle_for(*stranger_);
  if (outcome.verdict == Verdict::keep && outcome.response->status < first_error) quotas.prove(scope);
}

}  // namespace semel::gateway
