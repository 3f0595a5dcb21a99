// One adviser after the other, until one of them leads to a server that is taken.
#include "store/redis/primary.h"

#include <algorithm>
#include <charconv>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/redis_url.h"
#include "store/redis/connection.h"
#include "store/redis/layout.h"
#include "store/redis/plan.h"
#include "store/redis/resp.h"
#include "store/redis/server.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {
namespace {

constexpr Millis adviser_max{500};  // so that one that is away does not hold up the others

// Sentinels often have no password where the servers have one, and take it amiss if they are sent one.
Result<RespValue> ask_sentinel(const Clock& clock, const core::RedisUrl& url, const core::RedisHost& host,
                               Millis time_max) {
  core::RedisUrl sentinel = url;
  sentinel.database = 0;
  Result<RespValue> said = fail(Code::unavailable, "not asked");
  for (const bool named : {false, true}) {
    sentinel.user = named ? url.user : std::string();
    sentinel.password = named ? url.password : std::string();
    Result<RedisConnection> connection = RedisConnection::open(clock, sentinel, host, time_max);
    if (!connection) return std::unexpected(std::move(connection.error()));
    said = connection->ask(clock, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", url.name}, time_max);
    const bool again = said && (said->is_error("NOAUTH") || said->is_error("NOPERM")) && !url.password.empty();
    if (!again) break;
  }
  return said;
}

Result<core::RedisHost> by_sentinel(const Clock& clock, const RedisPlan& plan, const core::RedisHost& sentinel) {
  const Result<RespValue> said = ask_sentinel(clock, plan.url, sentinel, std::min(plan.time_max, adviser_max));
  if (!said) return fail(Code::unavailable, "a Sentinel: " + said.error().detail);
  if (said->is_error()) return fail(Code::unavailable, "a Sentinel says: " + said->text);
  core::RedisHost host;
  const bool whole = said->items.size() == 2;
  if (whole) {
    host.host = said->items[0].text;
    const std::string_view port = said->items[1].text;
    std::from_chars(port.data(), port.data() + port.size(), host.port);
  }
  if (!whole || host.host.empty()) {
    return fail(Code::unavailable, "a Sentinel knows of no primary with the name that store.url has");
  }
  return host;
}

Result<core::RedisHost> by_member(const Clock& clock, const RedisPlan& plan, const core::RedisHost& member) {
  const Millis time_max = std::min(plan.time_max, adviser_max);
  Result<RedisConnection> connection = RedisConnection::open(clock, plan.url, member, time_max);
  if (!connection) return std::unexpected(std::move(connection.error()));
  const Result<RespValue> said = connection->ask(clock, {"CLUSTER", "SLOTS"}, time_max);
  if (!said) return std::unexpected(said.error());
  const Result<void> learnt = plan.cluster->learn(*said, member);
  if (!learnt) return std::unexpected(learnt.error());
  const std::optional<core::RedisHost> owner = plan.cluster->owner(plan.buckets.slot(plan.bucket));
  if (!owner) return fail(Code::unavailable, "Redis is refused: no server of the cluster has some of its slots");
  return *owner;
}

std::vector<core::RedisHost> advisers_of(const RedisPlan& plan) {
  if (plan.cluster != nullptr) return plan.cluster->advisers();
  if (plan.url.hosts.empty()) return {core::RedisHost{}};
  return plan.url.hosts;
}

Result<core::RedisHost> primary_by(const Clock& clock, const RedisPlan& plan, const core::RedisHost& adviser) {
  if (plan.cluster != nullptr) return by_member(clock, plan, adviser);
  if (plan.url.setup == core::RedisUrl::Setup::sentinel) return by_sentinel(clock, plan, adviser);
  return adviser;
}

Result<Admitted> primary_at(const Clock& clock, const RedisPlan& plan, const core::RedisHost& host) {
  Result<RedisConnection> connection = RedisConnection::open(clock, plan.url, host, plan.time_max);
  if (!connection) return std::unexpected(std::move(connection.error()));
  Result<RedisFacts> facts = facts_of(clock, *connection, marker_name(plan.buckets.tag(plan.bucket)), plan.time_max);
  if (!facts) return std::unexpected(std::move(facts.error()));
  return Admitted{.connection = *std::move(connection), .facts = *std::move(facts), .host = host};
}

// What the first of them says that leads to a server which `takes` takes. Else what the first one had to say.
template <class Takes>
Result<Admitted> find_primary(const Clock& clock, const RedisPlan& plan, const Takes& takes) {
  std::optional<Error> why;
  std::vector<core::RedisHost> tried;
  for (const core::RedisHost& adviser : advisers_of(plan)) {
    const Result<core::RedisHost> host = primary_by(clock, plan, adviser);
    if (host && std::ranges::find(tried, *host) != tried.end()) continue;
    if (host) tried.push_back(*host);
    Result<Admitted> found = fail(Code::unavailable, "nobody is there");
    if (host) found = primary_at(clock, plan, *host);
    Result<void> taken;
    if (found) taken = takes(found->facts);
    if (found && taken) return found;
    Error error = !host ? host.error() : !found ? found.error() : taken.error();
    // A refusal says more than that somebody else could not be reached.
    const bool refusal = error.detail.starts_with("Redis is refused");
    if (!why || (refusal && !why->detail.starts_with("Redis is refused"))) why = std::move(error);
  }
  return std::unexpected(why.value_or(Error{.code = Code::unavailable, .detail = "there is nobody to ask"}));
}

}  // namespace

Result<Admitted> connect_admitted(const Clock& clock, const RedisPlan& plan) {
  return find_primary(clock, plan, [&](const RedisFacts& facts) { return admit(facts, plan.demands); });
}

Result<Admitted> connect_primary(const Clock& clock, const RedisPlan& plan) {
  return find_primary(clock, plan, [](const RedisFacts&) { return Result<void>(); });
}

}  // namespace semel::store::redis
