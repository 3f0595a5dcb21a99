// The histories of several databases as one. A row goes to one of them, by its subject. All of them are read, so that
// rows are found after the set has changed.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "store/history.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::store::postgres {

class ShardedHistory : public History {
 public:
  // In an order that is the same on every gateway. There is at least one, and all outlive this.
  explicit ShardedHistory(std::vector<History*> shards) : shards_(std::move(shards)) {}

  Async<void> append(std::vector<HistoryRow> rows) override;
  Async<std::vector<HistoryRow>> read(HistoryKind kind, std::string subject, HistorySpan span,
                                      std::size_t limit) override;
  Async<HistoryPage> scan(HistoryKind kind, HistorySpan span, std::string cursor, std::size_t limit) override;
  Async<void> prune(HistoryKind kind, Time before) override;

 private:
  const std::vector<History*> shards_;
};

}  // namespace semel::store::postgres
