// The history of the reference store: a map in the order of a scan. What does not fit any more is dropped, oldest day
// first.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "store/history.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::store {

class MemoryHistory : public History {
 public:
  Async<void> append(std::vector<HistoryRow> rows) override;
  Async<std::vector<HistoryRow>> read(HistoryKind kind, std::string subject, HistorySpan span,
                                      std::size_t limit) override;
  Async<HistoryPage> scan(HistoryKind kind, HistorySpan span, std::string cursor, std::size_t limit) override;
  Async<void> prune(HistoryKind kind, Time before) override;

 private:
  static constexpr std::size_t kept_max = 200'000;  // of one kind

  std::mutex mutex_;
  std::map<HistoryKind, std::map<HistoryPlace, std::string>> rows_;
};

}  // namespace semel::store
