// What the log says of a mover: when it begins to fail, when the reason is another one, and when it is well again. Not
// every try.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/printable.h"
#include "reading/units.h"
#include <semel/clock.h>

namespace semel::outbox {

class TroubleLog {
 public:
  explicit TroubleLog(std::string outbox) : outbox_(std::move(outbox)) {}

  // A round has failed. Returns a line if there is something new to say.
  std::optional<std::string> fails(std::string_view why, Time now) {
    if (!since_) since_ = now;
    well_.reset();
    if (said_ == why || (!said_.empty() && now < said_at_ + another_after)) return std::nullopt;
    said_ = why;
    said_at_ = now;
    return fmt::format("outbox {}: rows cannot be moved, and stay where they are: {}", outbox_, core::printable(why));
  }

  // A round went well. One that fails and does not by turns is still failing.
  std::optional<std::string> works(Time now) {
    if (!since_) return std::nullopt;
    if (!well_) well_ = now;
    if (now < *well_ + well_after) return std::nullopt;
    const auto lasted = std::chrono::ceil<std::chrono::seconds>(*well_ - *since_);
    since_.reset();
    said_.clear();
    return fmt::format("outbox {}: rows are moved again, after {}", outbox_, reading::duration_text(lasted));
  }

 private:
  static constexpr Millis another_after{60'000};
  static constexpr Millis well_after{5'000};

  const std::string outbox_;
  std::optional<Time> since_;  // it fails; none: it is well
  std::optional<Time> well_;   // the first round that went well since it failed
  std::string said_;
  Time said_at_{};
};

}  // namespace semel::outbox
