// The beats of a driver on the server that has their home: read, compared with what was acknowledged, begun and kept.
//
// A beat lies in the slot of its home and goes where that slot goes. So it says what is lost wherever it is found: on
// the same server after a restart, on a replica that was promoted, also one that nobody here had heard of, and on a
// server that the slot was moved to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "store/redis/beats.h"
#include "store/redis/connection.h"
#include "store/redis/losses.h"
#include "store/redis/plan.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {

struct FoundBeat {
  std::uint64_t number = 0;  // 0: there is none
  bool away = false;         // it has gone ahead to the server that its slot is on the way to
};

// Used by one thread at a time. Everything that it is given must outlive it.
class HomeBeats {
 public:
  HomeBeats(const Clock& clock, const RedisPlan& plan, BeatBook& book, LossDesk& losses, std::string process)
      : clock_(clock), plan_(plan), book_(book), losses_(losses), process_(std::move(process)) {}

  // Whether the home is on a server that is not known to belong to those that it has been on: the slot was moved, or a
  // replica was promoted that joined after the last connection.
  bool has_moved();

  // Reads the beat of a connection, and tells what is lost. `at` is the server's time.
  Result<FoundBeat> compare(RedisConnection& connection, std::size_t slot, Time at);
  // Whether that server lacks something that was acknowledged. Tells nobody, and changes nothing.
  bool is_behind(RedisConnection& connection);
  Result<void> compare_all(RedisConnection& connection, Time at);

  // Writes the first beat by that script. A connection without a beat would not miss it: its first batch would be taken
  // by a server that was emptied meanwhile.
  Result<void> begin(RedisConnection& connection, std::size_t slot, const std::string& script);
  // The beats of a gateway that has nothing to do would expire, and would be missed.
  void keep(RedisConnection& connection);

 private:
  [[nodiscard]] std::string name(std::size_t slot) const;
  Result<FoundBeat> read(RedisConnection& connection, std::size_t slot);

  const Clock& clock_;
  const RedisPlan& plan_;
  BeatBook& book_;
  LossDesk& losses_;
  const std::string process_;
  std::vector<std::string> family_{};  // the servers of the shard, one of which is the primary
};

}  // namespace semel::store::redis
