// Rows on their way into the inbox: all of a batch at the same time, on the threads of the gateway, while the mover's
// thread waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "config/config.h"
#include "gateway/dispatcher.h"
#include "outbox/database.h"

namespace semel::outbox {

// What became of the rows of a batch.
struct BatchEnd {
  std::uint64_t accepted = 0;
  std::uint64_t known = 0;          // the same was accepted before
  std::uint64_t key_reused = 0;     // dead, and in the inbox as that
  std::uint64_t undeliverable = 0;  // the same
  std::string trouble;              // empty if all of them are in the inbox; else the others must come again
};

// Accepts them, in the order of their numbers where it matters. When `stopping` is set, it waits a few seconds more,
// and then gives up. The dispatcher must outlive what it was given.
BatchEnd move_batch(gateway::Dispatcher& dispatcher, const config::OutboxConfig& outbox, std::vector<OutboxRow> rows,
                    const std::atomic<bool>& stopping);

}  // namespace semel::outbox
