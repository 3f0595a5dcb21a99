// The operator's view of a PostgreSQL store. It has a connection of its own, made when it is first used, so that no
// request waits behind a list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/settlement.h"
#include "store/audit_log.h"
#include "store/desk.h"
#include "store/postgres/driver.h"
#include "store/postgres/late_driver.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::postgres {

class PostgresDesk : public Desk, public AuditLog {
 public:
  PostgresDesk(const Clock& clock, DriverOptions options) : driver_(clock, std::move(options)) {}

  Async<std::vector<Held>> find(std::string id_begins, std::size_t limit) override;
  Async<KeyList> list(KeyFilter filter, std::string cursor) override;
  Async<void> settle(Digest id, core::Settlement settlement) override;
  Async<AuditEntry> append(std::string text) override;
  Async<std::vector<AuditEntry>> read(std::uint64_t after, std::size_t limit) override;

 private:
  LateDriver driver_;
};

}  // namespace semel::store::postgres
