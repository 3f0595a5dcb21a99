// What every request of a thread shares.
#pragma once

#include "gateway/key_cache.h"
#include "gateway/quotas.h"
#include "gateway/replay_cache.h"
#include "store/glance.h"
#include "telemetry/metrics.h"
#include "telemetry/request_log.h"
#include "telemetry/sightings.h"
#include <semel/clock.h>
#include <semel/once.h>

namespace semel::gateway {

struct Services {
  Once& once;
  Clock& clock;
  telemetry::Metrics& metrics;
  telemetry::Sightings& sightings;
  ReplayCache& replays;
  telemetry::RequestLog& log;
  KeyCache& keys;
  Quotas& quotas;
  store::Glance* glance;  // null if the store cannot tell
};

}  // namespace semel::gateway
