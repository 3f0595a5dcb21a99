#include "store/postgres/sharded_history.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "core/sha256.h"
#include "store/history.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::store::postgres {
namespace {

std::size_t shard_for(const std::string& subject, std::size_t shards) {
  const Digest digest = core::sha256_parts("semel history shard v1", {subject});
  return (static_cast<std::size_t>(digest[0]) * 256 + digest[1]) % shards;
}

}  // namespace

Async<void> ShardedHistory::append(std::vector<HistoryRow> rows) {
  std::vector<std::vector<HistoryRow>> parts(shards_.size());
  for (HistoryRow& row : rows) parts[shard_for(row.subject, shards_.size())].push_back(std::move(row));
  Result<void> appended;
  for (std::size_t at = 0; at < parts.size(); ++at) {
    if (parts[at].empty()) continue;
    Result<void> there = co_await shards_[at]->append(std::move(parts[at]));
    if (!there) appended = std::move(there);
  }
  co_return appended;
}

Async<std::vector<HistoryRow>> ShardedHistory::read(HistoryKind kind, std::string subject, HistorySpan span,
                                                    std::size_t limit) {
  std::vector<HistoryRow> found;
  for (History* const shard : shards_) {
    Result<std::vector<HistoryRow>> there = co_await shard->read(kind, subject, span, limit);
    if (!there) co_return there;
    std::ranges::move(*there, std::back_inserter(found));
  }
  std::ranges::sort(found, {}, [](const HistoryRow& row) { return std::tuple(row.at, row.number); });
  if (found.size() > limit) found.resize(limit);
  co_return found;
}

// A cursor is the number of the shard in front of its own.
Async<HistoryPage> ShardedHistory::scan(HistoryKind kind, HistorySpan span, std::string cursor, std::size_t limit) {
  std::size_t at = 0;
  if (!cursor.empty()) {
    const std::size_t slash = cursor.find('/');
    const auto [end, error] = std::from_chars(cursor.data(), cursor.data() + std::min(slash, cursor.size()), at);
    if (slash == std::string::npos || error != std::errc() || end != cursor.data() + slash || at >= shards_.size()) {
      co_return fail(Code::invalid, "cursor: it is not one that a scan has returned");
    }
    cursor.erase(0, slash + 1);
  }
  Result<HistoryPage> page = co_await shards_[at]->scan(kind, span, std::move(cursor), limit);
  if (!page) co_return page;
  const std::size_t next = page->cursor.empty() ? at + 1 : at;
  if (next < shards_.size()) page->cursor = std::to_string(next) + "/" + page->cursor;
  co_return page;
}

Async<void> ShardedHistory::prune(HistoryKind kind, Time before) {
  Result<void> pruned;
  for (History* const shard : shards_) {
    Result<void> there = co_await shard->prune(kind, before);
    if (!there) pruned = std::move(there);
  }
  co_return pruned;
}

}  // namespace semel::store::postgres
