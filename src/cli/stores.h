// The store that a configuration names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "store/capable_store.h"
#include "store/redis/options.h"
#include "telemetry/metrics.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::cli {

// Whether this build has stores of that kind.
bool has_store(config::StoreKind kind);

// One server, Sentinels or a cluster.
bool is_redis(config::StoreKind kind);

// `metrics` counts what the store reports about itself, if it does.
Result<store::CapableStore> open_store(const config::Config& config, Clock& clock,
                                       const std::shared_ptr<telemetry::StoreMetrics>& metrics);

// What an operator should know about a store: settings of a server with which it can lose what it acknowledged, or why
// it cannot be asked; keys that are stored under plain hashes although there are encryption keys. One sentence each,
// and never an address.
std::vector<std::string> concerns(const config::Config& config, Clock& clock);

// Of a configuration that names a Redis store.
store::redis::RedisOptions redis_options(const config::Config& config);

}  // namespace semel::cli
