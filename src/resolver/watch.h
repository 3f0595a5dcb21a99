// How long a source has been asked about a key, and when to ask again. Pure: times are passed in.
#pragma once

#include <cstdint>
#include <optional>

#include "resolver/ruling.h"
#include <semel/clock.h>

namespace semel::resolver {

// A clock that runs only while the source answers. Its reading at two times tells for how long, between them, the
// source could have been seen to change.
class SourceClock {
 public:
  // Between two answers at most `step_max` counts: what happened in a longer silence is not known.
  explicit SourceClock(Millis step_max) : step_max_(step_max) {}

  // The source was asked at `now`, and has answered.
  void reached(Time now);
  // It could not be asked. The time from the last answer to the next one does not count.
  void lost() { last_.reset(); }
  // It answered, but not about every key: those that were not asked may have been failed, too.
  void failed_for_some() { failed_at_ = reading_; }

  [[nodiscard]] Millis reading() const { return reading_; }
  // How much of the time since the clock had this reading counts for a key that was not asked about in between: all,
  // or a step if the source failed for others since.
  [[nodiscard]] Millis counted_since(Millis reading) const;

 private:
  Millis step_max_;
  Millis reading_{0};
  std::optional<Time> last_;
  std::optional<Millis> failed_at_;  // its reading then
};

// One attempt of a key that is asked about. Another fence is another attempt, and another watch.
class KeyWatch {
 public:
  // Takes up what an earlier watch of the same attempt, on this gateway or another, had come to.
  void take_up(Millis watched, bool seen, std::uint32_t asks, Millis reading);

  // What was said now, by the source's clock, with what was known before.
  Doubt hear(const Testimony& said, const SourceClock& clock, Millis age);

  // How long to wait before the next question: `first` and then twice as long each time, up to an hour; and no longer
  // than absence needs to become a proof.
  [[nodiscard]] Millis pause(const RulingTerms& terms, const Testimony& said, Millis first) const;

  [[nodiscard]] std::uint32_t asks() const { return asks_; }
  [[nodiscard]] bool seen() const { return seen_; }
  [[nodiscard]] Millis watched() const { return watched_; }

 private:
  std::optional<Millis> quiet_at_;  // the source's clock when it last had no answer; none if its absence is not watched
  Millis watched_{0};
  bool seen_ = false;
  std::uint32_t asks_ = 0;
};

}  // namespace semel::resolver
