// Goes over the indexes of all buckets at once, as if they were one: by the time of the claim and, within a
// millisecond, by id.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "store/redis/asker.h"
#include "store/redis/buckets.h"
#include <semel/result.h>

namespace semel::store::redis {

struct IndexEntry {
  double score = 0;  // milliseconds
  std::string name;  // of the record

  // By score, then by id: names of one bucket differ in nothing else.
  [[nodiscard]] bool is_after(const IndexEntry& other) const;
};

class IndexWalk {
 public:
  // From this score on, as ZRANGEBYSCORE takes it.
  IndexWalk(BucketAsker& asker, const Buckets& buckets, std::string from);

  // Up to `count` more; fewer only at the end.
  Result<std::vector<IndexEntry>> next(std::size_t count);

 private:
  struct Row {
    std::deque<IndexEntry> read{};
    std::size_t taken = 0;  // so far, from the server
    bool over = false;
  };
  Result<void> fill();

  BucketAsker& asker_;
  const Buckets buckets_;
  const std::string from_;
  std::vector<Row> rows_;  // by bucket
};

}  // namespace semel::store::redis
