// What every request of a thread shares.
#pragma once

#include <atomic>
#include <cstdint>

#include "gateway/dispatcher.h"
#include "gateway/inquiries.h"
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

// Numbers for deliveries of several events: no two are the same, here and in other processes. From any thread.
class Companies {
 public:
  explicit Companies(std::uint64_t seed) : next_(seed) {}
  std::uint64_t next() { return next_.fetch_add(2, std::memory_order_relaxed) | 1U; }  // never 0

 private:
  std::atomic<std::uint64_t> next_;
};

struct Services {
  Once& once;
  Clock& clock;
  telemetry::Metrics& metrics;
  telemetry::Sightings& sightings;
  ReplayCache& replays;
  telemetry::RequestLog& log;
  KeyCache& keys;
  Inquiries& inquiries;
  Quotas& quotas;
  Companies& companies;
  store::Glance* glance;   // null if the store cannot tell
  Dispatcher* dispatcher;  // null if there is no inbox
};

}  // namespace semel::gateway
