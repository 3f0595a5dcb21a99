// What a request leaves for the desk, left out: for the gateway that bench/desk.py compares the real one with.
//
// These functions stand in for those of src/gateway/clue.cc and src/telemetry/sighting.cc, which the linker then never
// takes out of their libraries. Everything else is the same program.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/function_ref.h"
#include "gateway/clue.h"
#include "gateway/incoming.h"
#include "gateway/job.h"
#include "gateway/told.h"
#include "policy/identify.h"
#include "policy/request_view.h"
#include "telemetry/notebook.h"
#include "telemetry/route_metrics.h"
#include "telemetry/sighting.h"

namespace semel::gateway {

std::unique_ptr<telemetry::Clue> clue_of(const Incoming& /*incoming*/, const policy::Identity& /*identity*/,
                                         const policy::RequestView& /*request*/, bool /*odd*/) {
  return nullptr;
}
std::unique_ptr<telemetry::Clue> clue_of(const Incoming& /*incoming*/, const Job& /*job*/, const Told& /*told*/) {
  return nullptr;
}
void take_note(const Incoming& /*incoming*/, const telemetry::RouteMetrics& /*route*/, const Told& /*told*/) {}

}  // namespace semel::gateway

namespace semel::telemetry {

void SightingBuffer::add(const Sighting& /*sighting*/) {}
void SightingBuffer::hand_over() {}
std::uint64_t SightingBuffer::take(std::string& taken) {
  taken.clear();
  return dropped_ + dropped_before_;  // nothing is ever
}
void for_each_sighting(std::string_view /*taken*/, core::FunctionRef<void(const Sighting&)> /*each*/) {}

}  // namespace semel::telemetry
