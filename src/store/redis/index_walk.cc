#include "store/redis/index_walk.h"

#include <cstddef>
#include <cstdlib>
#include <expected>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/redis/asker.h"
#include "store/redis/buckets.h"
#include "store/redis/layout.h"
#include "store/redis/resp.h"
#include <semel/result.h>

namespace semel::store::redis {
namespace {

constexpr std::size_t step_of_one = 500;
constexpr std::size_t step_of_many = 32;

}  // namespace

bool IndexEntry::is_after(const IndexEntry& other) const {
  if (score != other.score) return score > other.score;
  return std::string_view(name).substr(name.find('}') + 1) >
         std::string_view(other.name).substr(other.name.find('}') + 1);
}

IndexWalk::IndexWalk(BucketAsker& asker, const Buckets& buckets, std::string from)
    : asker_(asker), buckets_(buckets), from_(std::move(from)), rows_(buckets.count()) {}

// Reads on in every bucket of which nothing is left.
Result<void> IndexWalk::fill() {
  const std::size_t step = rows_.size() == 1 ? step_of_one : step_of_many;
  std::vector<BucketCommand> commands;
  for (std::size_t bucket = 0; bucket < rows_.size(); ++bucket) {
    const Row& row = rows_[bucket];
    if (row.over || !row.read.empty()) continue;
    std::string text;
    append_command(text, {"ZRANGEBYSCORE", index_name(buckets_.tag(bucket)), from_, "+inf", "WITHSCORES", "LIMIT",
                          std::to_string(row.taken), std::to_string(step)});
    commands.push_back({.bucket = bucket, .text = std::move(text)});
  }
  if (commands.empty()) return {};
  Result<std::vector<RespValue>> replies = asker_.ask(commands);
  if (!replies) return std::unexpected(std::move(replies.error()));
  for (std::size_t i = 0; i < commands.size(); ++i) {
    Row& row = rows_[commands[i].bucket];
    std::vector<RespValue>& items = replies->at(i).items;
    for (std::size_t k = 0; k + 1 < items.size(); k += 2) {
      row.read.push_back({.score = std::strtod(items[k + 1].text.c_str(), nullptr), .name = std::move(items[k].text)});
    }
    row.taken += items.size() / 2;
    row.over = items.size() / 2 < step;
  }
  return {};
}

Result<std::vector<IndexEntry>> IndexWalk::next(std::size_t count) {
  Result<void> filled = fill();
  if (!filled) return std::unexpected(std::move(filled.error()));
  using Front = std::pair<IndexEntry, std::size_t>;
  const auto after = [](const Front& a, const Front& b) { return a.first.is_after(b.first); };
  std::priority_queue<Front, std::vector<Front>, decltype(after)> fronts(after);
  const auto add = [&](std::size_t bucket) {
    if (!rows_[bucket].read.empty()) fronts.emplace(rows_[bucket].read.front(), bucket);
  };
  for (std::size_t bucket = 0; bucket < rows_.size(); ++bucket) add(bucket);
  std::vector<IndexEntry> found;
  while (!fronts.empty() && found.size() < count) {
    const std::size_t bucket = fronts.top().second;
    fronts.pop();
    Row& row = rows_[bucket];
    found.push_back(std::move(row.read.front()));
    row.read.pop_front();
    if (row.read.empty() && !row.over) filled = fill();
    if (!filled) return std::unexpected(std::move(filled.error()));
    add(bucket);
  }
  return found;
}

}  // namespace semel::store::redis
