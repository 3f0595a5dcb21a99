// Keys that ran some time ago, to notice those that come back after they have expired: two generations of a cuckoo
// filter (Fan, Andersen, Kaminsky, Mitzenmacher 2014), two bytes a key.
//
// About one in 8,000 keys that were never added is taken for one that was.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace semel::telemetry {

class CuckooFilter {
 public:
  explicit CuckooFilter(std::size_t buckets) : buckets_(buckets), slots_(buckets) {}  // a power of two

  // False if there is no room.
  bool add(std::uint64_t key);
  [[nodiscard]] bool has(std::uint64_t key) const;
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  using Bucket = std::array<std::uint16_t, 4>;  // 0: free

  static std::uint16_t mark_of(std::uint64_t key);
  [[nodiscard]] std::size_t first_of(std::uint64_t key) const;
  [[nodiscard]] std::size_t other_of(std::size_t bucket, std::uint16_t mark) const;
  bool put(std::size_t bucket, std::uint16_t mark);

  std::size_t buckets_;
  std::vector<Bucket> slots_;
  std::size_t size_ = 0;
  std::uint64_t turn_ = 0;  // which of a full bucket has to move
};

class LateKeys {
 public:
  // Of each generation; 2 MiB.
  static constexpr std::size_t buckets = 1U << 18U;
  static constexpr std::size_t keys_max = buckets * 4 / 100 * 90;

  // Whether the key was added before. Adds it.
  bool seen_before(std::uint64_t key);
  [[nodiscard]] std::size_t size() const { return young_.size(); }

 private:
  CuckooFilter young_{buckets};
  CuckooFilter old_{1};  // nothing, until the young one was full
};

}  // namespace semel::telemetry
