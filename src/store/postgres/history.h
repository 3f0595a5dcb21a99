// The history of a PostgreSQL store. It has a connection of its own, so that neither a request nor an operator waits
// behind it.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "store/call.h"
#include "store/history.h"
#include "store/postgres/driver.h"
#include "store/postgres/late_driver.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::store::postgres {

class PostgresHistory : public History {
 public:
  PostgresHistory(const Clock& clock, DriverOptions options) : driver_(clock, std::move(options)) {}

  Async<void> append(std::vector<HistoryRow> rows) override;
  Async<std::vector<HistoryRow>> read(HistoryKind kind, std::string subject, HistorySpan span,
                                      std::size_t limit) override;
  Async<HistoryPage> scan(HistoryKind kind, HistorySpan span, std::string cursor, std::size_t limit) override;
  Async<void> prune(HistoryKind kind, Time before) override;

  // For others that no request waits for.
  LateDriver& driver() { return driver_; }

 private:
  Async<HistoryPage> ask(PastCall past);

  LateDriver driver_;
};

}  // namespace semel::store::postgres
