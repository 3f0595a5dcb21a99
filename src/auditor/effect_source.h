// The database that an audit reads: one connection, one snapshot, rows in pieces.
//
// Everything happens in a transaction that is REPEATABLE READ and READ ONLY, with a time limit for each statement. A
// role that may write is refused all the same: a query that calls a function may do what it was not written for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "config/audit.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::auditor {

// One row of the query.
struct EffectRow {
  std::optional<std::string> key;
  std::optional<std::string> scope;
  std::string effect;
  Time at{};
  std::optional<std::string> value;
};

// The effects of some keys: those whose hash, modulo `count`, is `number`. `count` is a power of two.
struct EffectShare {
  std::uint32_t count = 1;
  std::uint32_t number = 0;
};

struct EffectSpan {
  Time from;
  Time to;
};

// How the database stands when a window begins.
struct SourceStanding {
  Time now;
  Millis lag{0};  // of a replica
  bool replica = false;
};

class EffectSource {
 public:
  // Code::unavailable: no server answers.
  static Result<EffectSource> open(const Clock& clock, const config::AuditConfig& audit);

  // Code::invalid: the role may write, or the query is not one of an audit. Says what to do.
  Result<void> check();
  Result<SourceStanding> standing();

  // Between these two all that is read is of one moment.
  Result<void> begin();
  void end();

  // How many rows the planner expects.
  Result<std::uint64_t> estimate(const EffectSpan& span);

  using Take = std::function<Result<void>(const EffectRow&)>;
  // Hands every row of the span over; if `plant` is not empty, also two rows of that key. Ends at the first error.
  Result<void> read(const EffectSpan& span, const EffectShare& share, const std::string& plant, const Take& take);

  // Ends the statement that is under way. From any thread.
  std::function<void()> canceller();

 private:
  struct Connected;
  struct Part {
    void operator()(Connected* connected) const;
  };
  explicit EffectSource(std::unique_ptr<Connected, Part> connected) : connected_(std::move(connected)) {}

  std::unique_ptr<Connected, Part> connected_;
};

}  // namespace semel::auditor
