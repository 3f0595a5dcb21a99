// What the doctor is told of one request: hashes and endings, no text of a key and no value of a body.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "telemetry/key_look.h"
#include "telemetry/member_prints.h"
#include "telemetry/route_metrics.h"
#include "telemetry/tally.h"
#include <semel/clock.h>

namespace semel::telemetry {

// What requests are compared by.
struct RequestTraits {
  std::uint64_t scope = 0;  // the first eight bytes of each digest
  std::uint64_t key = 0;
  std::uint64_t fingerprint = 0;
  std::uint64_t text = 0;  // a hash of the key's text, whoever sent it
};

struct DoctorNote {
  enum class Source : std::uint8_t { route, webhook };

  const RouteMetrics* route = nullptr;  // outlives the doctor
  RequestTraits traits;
  Time at{};     // when the request came
  Time ended{};  // when it was answered
  TallyOutcome outcome = TallyOutcome::ran;
  Source source = Source::route;
  bool by_request = false;        // whether requests like this one are all told: then shares of them mean something
  std::uint16_t status = 0;       // 0: the client did not get its answer
  std::uint32_t retry_after = 0;  // seconds; 0 if it was not told to wait
  KeyLook look{};
  std::vector<MemberPrint> members{};  // empty if they were not looked at

  [[nodiscard]] bool is_run() const {
    return outcome == TallyOutcome::ran || outcome == TallyOutcome::released || outcome == TallyOutcome::unknown ||
           outcome == TallyOutcome::would_run || outcome == TallyOutcome::accepted;
  }
  [[nodiscard]] bool is_reuse() const {
    return outcome == TallyOutcome::key_reused || outcome == TallyOutcome::would_refuse;
  }
};

}  // namespace semel::telemetry
