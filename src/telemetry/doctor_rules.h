// The doctor's rules: what the counts of one client say about it. Pure: values in, findings out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "telemetry/doctor_note.h"
#include "telemetry/finding.h"
#include "telemetry/key_look.h"
#include <semel/clock.h>

namespace semel::telemetry {

// What was counted of one client on one route.
struct ClientCounts {
  // Requests that failed, and those of them that were sent again within ten minutes with another key.
  struct Retried {
    std::uint64_t failed = 0;
    std::uint64_t again = 0;
  };
  std::uint64_t runs = 0;           // of requests that were all looked at
  Retried refused{};                // of those: the client heard of a failure
  Retried cut{};                    // it heard nothing, or that the outcome is not known
  std::uint64_t after_success = 0;  // sent again after a success, with another key; two purchases may be equal
  std::uint64_t changed_keys = 0;   // that came back with another body
  std::uint64_t constant = 0;       // requests under a key that had come with eight others
  std::uint64_t late = 0;           // ran again under a key that had run before
  std::uint64_t told_to_wait = 0;
  std::uint64_t early = 0;     // came back before that
  std::uint64_t given_up = 0;  // did not come back
  std::array<std::uint64_t, key_shapes> shapes{};
  struct Numbers {
    std::uint64_t compared = 0;   // with the one before
    std::uint64_t following = 0;  // that came soon behind it
  } numbers;

  void add(const ClientCounts& other);
};

struct ClientCase {
  std::string route;
  std::string scope;
  DoctorNote::Source source = DoctorNote::Source::route;
  ClientCounts counts;
  std::map<std::string, std::uint64_t> members;  // that differed, and how often
  std::array<Time, finding_kinds> first{};       // when each kind was first and last seen
  std::array<Time, finding_kinds> last{};
};

std::vector<Finding> judge(const ClientCase& client);

}  // namespace semel::telemetry
