// How far each connection has come: the number of its last batch that was acknowledged, and how many calls each had.
//
// Every batch ends with the write of its number. The log and the replication stream of a server are prefixes of what it
// has done, so after a restart or a failover the number that is found says exactly which batches are gone: those above
// it. Numbers of a connection go on when it is made again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "store/redis/options.h"
#include <semel/clock.h>

namespace semel::store::redis {

// May be used from any thread.
class BeatBook {
 public:
  explicit BeatBook(std::size_t slots) : slots_(slots) {}
  [[nodiscard]] std::size_t slots() const { return slots_.size(); }

  struct Next {
    std::uint64_t number = 0;
    std::uint64_t before = 0;  // what must be there; 0: nothing
  };
  // For a batch that is about to be sent.
  Next next(std::size_t slot);
  // The batch was answered, and its callers are told. `calls` are those that would be missed.
  void acknowledge(std::size_t slot, std::uint64_t number, std::size_t calls, Time at);
  [[nodiscard]] std::uint64_t acknowledged(std::size_t slot);  // the last one
  // A batch has found this number where another one should be, and has written over it. The next resume() tells.
  void find(std::size_t slot, std::uint64_t found);
  // A new connection has found this number. Returns what is lost; tells it once.
  std::optional<RedisLoss> resume(std::size_t slot, std::uint64_t found, Time now);

 private:
  struct Told {
    std::uint64_t number;
    std::size_t calls;
    Time at;
  };
  struct Slot {
    std::uint64_t sent = 0;
    std::uint64_t before = 0;                    // what the next batch finds
    std::uint64_t acknowledged = 0;              // the last one
    std::deque<Told> told{};                     // those with calls, the oldest first
    std::optional<std::uint64_t> overwritten{};  // see find()
    Time forgotten{};                            // the last that was dropped from `told`
  };

  std::mutex mutex_;
  std::vector<Slot> slots_;
};

}  // namespace semel::store::redis
