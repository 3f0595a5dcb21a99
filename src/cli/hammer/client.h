// Sends one request of a hammer run and says what came back; can also hang up on purpose.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/hammer/options.h"
#include "cli/hammer/verdict.h"
#include "http/ticker.h"
#include "http/upstream.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::cli {

// Where a connection is cut on purpose.
enum class Cut : std::uint8_t { nowhere, after_sending, while_reading };

enum class Flight : std::uint8_t { answered, cut, lost };

struct Landed {
  Flight flight = Flight::lost;
  Seen seen;                          // if answered
  std::optional<Millis> retry_after;  // from the answer, which counts in seconds
};

class HammerClient {
 public:
  // `options` must outlive the client.
  HammerClient(const HammerOptions& options, std::string run, Clock& clock, Executor executor, http::Ticker& ticker);

  Task<Landed> send(std::uint64_t key, Letter letter, Cut cut);

  // Why the target cannot be reached; empty if it can.
  Task<std::string> trouble();
  // The number at "effects" in the JSON of the effects URL; null if there is none.
  Task<std::optional<std::uint64_t>> count_effects();

  [[nodiscard]] std::string key_text(std::uint64_t key) const;

 private:
  [[nodiscard]] std::string head_for(const std::string& key, const std::string& body) const;

  const HammerOptions& options_;
  const std::string run_;  // so that two runs never share a key
  const bool has_host_;
  const bool has_type_;
  http::Upstream upstream_;
  std::optional<http::Upstream> effects_;
};

}  // namespace semel::cli
