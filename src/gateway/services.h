// What every request of a thread shares.
#pragma once

#include <atomic>
#include <cstdint>

#include "gateway/dispatcher.h"
#include "gateway/inquiries.h"
#include "gateway/key_cache.h"
#include "gateway/quotas.h"
#include "gateway/reminders.h"
#include "gateway/replay_cache.h"
#include "store/glance.h"
#include "store/lookup.h"
#include "telemetry/certificates.h"
#include "telemetry/doctor_watch.h"
#include "telemetry/metrics.h"
#include "telemetry/notebook.h"
#include "telemetry/request_log.h"
#include "telemetry/shapes.h"
#include "telemetry/sighting.h"
#include "telemetry/sightings.h"
#include "telemetry/tail.h"
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

// What threads remember of requests for people to see. Shared by all of them.
struct Witness {
  telemetry::Sightings sightings;  // of mode = "observe"
  telemetry::Shapes shapes;
  telemetry::Tail tail;
  telemetry::Certificates certificates;
};

// Where requests are written down.
struct Books {
  telemetry::Notebook& notebook;  // of this thread
  telemetry::DoctorWatch& watch;
};

struct Services {
  Once& once;
  Clock& clock;
  telemetry::Metrics& metrics;
  telemetry::Sightings& sightings;
  telemetry::Shapes& shapes;
  telemetry::Tail& tail;
  telemetry::SightingBuffer* sighted;  // null if nobody takes them
  ReplayCache& replays;
  telemetry::RequestLog& log;
  Books books;
  KeyCache& keys;
  Inquiries& inquiries;
  Quotas& quotas;
  Companies& companies;
  store::Glance* glance;   // null if the store cannot tell
  Dispatcher* dispatcher;  // null if there is no inbox
  store::Lookup* lookup;   // null if the store cannot
  Reminders* reminders;    // null if the store has no history
};

}  // namespace semel::gateway
