// What a hammer run saw, key by key, and whether the promises held. Pure: no network, no clock, no printing.
//
// An answer without the replay marker is a first run. That is the whole trick: an endpoint that keeps its promise gives
// at most one of them per key, however many requests it gets, and every other answer repeats that one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <semel/key.h>

namespace semel::cli {

enum class Letter : std::uint8_t {
  same,   // the request of its key
  other,  // another body under the same key, sent when the key is known to be taken
};

struct Seen {
  std::uint16_t status = 0;
  bool replayed = false;     // it had the marker
  bool retry_never = false;  // the body is a problem that says so
  Digest body{};             // SHA-256
};

enum class Meaning : std::uint8_t {
  first_run,
  replay,
  again,    // 409 or 429: come back later with the same key
  reused,   // 422
  refused,  // another 4xx
  failed,   // 5xx
};

Meaning meaning(const Seen& seen);

class Tally {
 public:
  // `calls` is the number of requests of each key that need a final answer.
  Tally(std::size_t keys, std::size_t calls) : calls_(calls), keys_(keys) {}

  struct Counts {
    std::uint64_t first_runs = 0;
    std::uint64_t replays = 0;
    std::uint64_t again = 0;
    std::uint64_t reused = 0;
    std::uint64_t refused = 0;
    std::uint64_t failed = 0;
    std::uint64_t cut = 0;   // connections that we cut
    std::uint64_t lost = 0;  // connections that broke, were refused or timed out
    [[nodiscard]] std::uint64_t answers() const { return first_runs + replays + again + reused + refused + failed; }
    [[nodiscard]] std::uint64_t sent() const { return answers() + cut + lost; }
  };

  void cut() { ++counts_.cut; }
  void lost() { ++counts_.lost; }
  // Returns what the answer means; all but Meaning::again end the call that it answers.
  Meaning answered(std::size_t key, Letter letter, const Seen& seen);

  struct OfKey {
    std::uint32_t first_runs = 0;
    std::uint32_t ended = 0;
    std::uint32_t others_taken = 0;  // another body that was not refused
    std::uint16_t status = 0;        // of the first answer to Letter::same
    std::uint16_t other_status = 0;  // of the first answer to another body that was not 422
    bool replayed = false;
    bool failed = false;
    bool differs = false;
    Digest body{};
  };

  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] std::span<const OfKey> keys() const { return keys_; }
  [[nodiscard]] std::size_t calls() const { return calls_; }
  [[nodiscard]] std::uint64_t ended() const { return ended_; }
  [[nodiscard]] bool all_ended() const { return ended_ == calls_ * keys_.size(); }

 private:
  std::size_t calls_;
  std::vector<OfKey> keys_;
  std::uint64_t ended_ = 0;
  Counts counts_;
};

enum class Promise : std::uint8_t { ran_once, same_answer, reuse_refused, no_failure, got_through, all_ended, effects };
std::string_view name(Promise promise);

struct Broken {
  Promise promise;
  std::string what;               // a sentence without its full stop
  std::vector<std::size_t> keys;  // the first few of them
};

// How often the API says that it acted, before and after the run.
struct Effects {
  std::uint64_t before = 0;
  std::uint64_t after = 0;
};

// Empty if every promise held.
std::vector<Broken> judge(const Tally& tally, const std::optional<Effects>& effects);

// 12345 as "12,345".
std::string grouped(std::uint64_t number);

}  // namespace semel::cli
