// The operator's view of a PostgreSQL store. It has a connection of its own, made when it is first used, so that no
// request waits behind a list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/settlement.h"
#include "store/audit_log.h"
#include "store/desk.h"
#include "store/key_roll.h"
#include "store/postgres/driver.h"
#include "store/postgres/late_driver.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::postgres {

class PostgresDesk : public Desk, public AuditLog, public KeyRoll {
 public:
  // `changed` is called with each key that was settled here, or may have been.
  PostgresDesk(const Clock& clock, DriverOptions options, std::function<void(const Digest&)> changed)
      : changed_(std::move(changed)), driver_(clock, std::move(options)) {}

  Async<std::vector<Held>> find(std::string id_begins, std::size_t limit) override;
  Async<KeyList> list(KeyFilter filter, std::string cursor) override;
  Async<void> settle(Digest id, core::Settlement settlement) override;
  Async<AuditEntry> append(std::string text) override;
  Async<std::vector<AuditEntry>> read(std::uint64_t after, std::size_t limit) override;
  Async<RollPage> expiring(RollSpan span, std::string cursor) override;

 private:
  const std::function<void(const Digest&)> changed_;
  LateDriver driver_;
};

}  // namespace semel::store::postgres
