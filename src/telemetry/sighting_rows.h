// From sightings to rows of the history: what a timeline is made from.
//
// An attempt is a row of its own. Repeats of a key are put together, with the first few callers and with counts by what
// they heard. A row's value is JSON, as docs/openapi-admin.json describes it:
//
//   {"event":"attempt","node":…,"fence":…,"route":…,"upstream":…,"status":…,"ms":…,"outcome":…,"cause":…,"client":…,…}
//   {"event":"repeats","node":…,"until":…,"count":…,"answers":{…},"callers":[…]}
//   {"event":"claimed","node":…,"fence":…,"route":…,"client":…}     of the claims API, as is the next
//   {"event":"outcome","node":…,"fence":…,"outcome":…,"status":…,"route":…,"client":…}
//   {"event":"gap","node":…,"dropped":…}
//
// Most keys are run once, successfully, and never seen again. Their rows are of a kind of their own, which is kept for
// a shorter time, and only so many are written each second; the rest is counted as dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/function_ref.h"
#include "store/history.h"
#include "telemetry/sighting.h"
#include <semel/clock.h>
#include <semel/key.h>

namespace semel::telemetry {

inline constexpr std::size_t callers_max = 4;  // of repeats that are put together

// The subject of rows that say that sightings were dropped.
inline constexpr std::string_view gap_subject = "sightings";

// What is gathered at one time, from all threads.
class SightingRows {
 public:
  static constexpr std::size_t plain_max = 1'000;
  static constexpr std::size_t rows_max = 8'000;

  explicit SightingRows(std::string node) : node_(std::move(node)) {}

  void add(const Sighting& sighting);
  void add_dropped(std::uint64_t count) { dropped_ += count; }

  // The rows of what was added since the last time. `named` gives the id that a key has in the store.
  std::vector<store::HistoryRow> take(Time now, core::FunctionRef<Digest(const Digest&)> named);

 private:
  struct Caller {
    std::string client;
    std::string agent;
    std::string_view answer;
    std::uint16_t status = 0;
    std::uint64_t count = 0;
    core::Shape shape;  // of a request that the key does not belong to
  };
  struct Repeats {
    Time first;
    Time last;
    std::uint64_t count = 0;
    std::vector<std::pair<std::string_view, std::uint64_t>> answers;
    std::vector<Caller> callers;
  };
  struct Attempted {
    store::HistoryKind kind;
    Digest id;
    Time at;
    std::string value;
  };
  struct IdHash {
    std::size_t operator()(const Digest& id) const noexcept;
  };

  void add_attempt(const Sighting& sighting);
  void add_step(const Sighting& sighting);
  void add_repeat(const Sighting& sighting);
  [[nodiscard]] std::string repeats_text(const Repeats& repeats) const;

  std::string node_;
  std::vector<Attempted> attempts_;
  std::unordered_map<Digest, Repeats, IdHash> repeats_;
  std::size_t plain_ = 0;
  std::uint64_t dropped_ = 0;
};

// What a caller heard, in a word: "replayed", "waited" (the same, after waiting for another's answer), or a problem.
std::string_view answer_name(const Sighting& sighting);

}  // namespace semel::telemetry
