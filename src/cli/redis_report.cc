#include "cli/redis_report.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "cli/stores.h"
#include "config/config.h"
#include "policy/route.h"
#include "reading/units.h"
#include "store/redis/admin.h"
#include "webhook/webhook.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::cli {
namespace {

// A finished key with an answer of 512 bytes; RedisStores.TakeTheMemoryThatTheManualSays measures it.
constexpr std::uint64_t key_bytes = 1'060;

Millis longest_ttl(const config::Config& config) {
  Millis longest{0};
  for (const policy::Route& route : config.routes) longest = std::max(longest, route.target.policy.ttl);
  for (const webhook::Webhook& webhook : config.webhooks) longest = std::max(longest, webhook.target.policy.ttl);
  return longest;
}

void print_room(std::uint64_t memory_max, Millis ttl) {
  if (ttl <= Millis{0}) return;
  const std::uint64_t seconds = std::max<std::uint64_t>(static_cast<std::uint64_t>(ttl.count()) / 1'000, 1);
  fmt::print(
      "      memory: a finished key with an answer of 512 bytes takes {} bytes; kept for {}, 100 new keys per second "
      "take {} MiB\n",
      key_bytes, reading::duration_text(ttl), key_bytes * 100 * seconds >> 20U);
  if (memory_max == 0) return;
  fmt::print("      memory: maxmemory is {} MiB, enough for {} new keys per second\n", memory_max >> 20U,
             memory_max / (key_bytes * seconds));
}

}  // namespace

bool report_redis(const config::Config& config, Clock& clock) {
  const Result<store::redis::RedisReport> report = store::redis::inspect_redis(clock, redis_options(config));
  if (!report) {
    fmt::print(stderr, "semel: store: {}\n", report.error().detail);
    return false;
  }
  fmt::print("  store: Redis\n");
  for (const std::string& promise : report->promises) fmt::print("      {}\n", promise);
  print_room(report->memory_max, longest_ttl(config));
  return true;
}

bool accept_redis_loss(const config::Config& config, Clock& clock) {
  const Result<std::string> lost = store::redis::accept_redis_losses(clock, redis_options(config));
  if (!lost) {
    fmt::print(stderr, "semel: store: {}\n", lost.error().detail);
    return false;
  }
  if (lost->empty()) {
    fmt::print("no loss is waiting to be accepted\n");
  } else {
    fmt::print("{}accepted: gateways take new keys again\n", *lost);
  }
  return true;
}

}  // namespace semel::cli
