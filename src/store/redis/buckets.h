// Where a record lies among the servers of a cluster.
//
// Records are spread over buckets. A bucket has a tag, the part of a name between { and }, and with it a slot of the
// cluster; so everything that one call touches is on one server. A single server has one bucket, whose tag is 0. A
// cluster has 1,024, each in a slot of its own, spread evenly: where a server has sixteen slots in a row, it has one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/redis_url.h"
#include <semel/key.h>

namespace semel::store::redis {

inline constexpr std::size_t slot_count = 16'384;

// The slot of a tag: CRC16, as Redis has it.
std::uint16_t slot_of(std::string_view tag);

class Buckets {
 public:
  explicit Buckets(core::RedisUrl::Setup setup = core::RedisUrl::Setup::single);

  [[nodiscard]] std::size_t count() const { return count_; }
  // Of the bucket with the tag 0, where there is one of everything: identity, audit log, losses.
  [[nodiscard]] std::size_t first() const;
  [[nodiscard]] std::size_t of(const Key& key) const;
  [[nodiscard]] std::size_t of_tag(std::string_view tag) const;
  // A home by which a key with any id is in that bucket.
  [[nodiscard]] std::uint64_t home(std::size_t bucket) const { return bucket + count_; }
  [[nodiscard]] const std::string& tag(std::size_t bucket) const;
  [[nodiscard]] std::uint16_t slot(std::size_t bucket) const;

 private:
  std::size_t count_;
};

}  // namespace semel::store::redis
