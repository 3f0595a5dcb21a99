// The operator's view of a Redis store. It reads over a connection of its own, made when it is first used, so that no
// request waits behind a list; what it writes goes the way of all calls.
//
// A list goes by the index of records that are running or of unknown outcome. A search by the beginning of an id has no
// index: it walks over the names of the server for a bounded time, and says so if that was not enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/settlement.h"
#include "store/aside.h"
#include "store/audit_log.h"
#include "store/call.h"
#include "store/desk.h"
#include "store/redis/connection.h"
#include "store/redis/dialer.h"
#include "store/redis/driver.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::redis {

class RedisDesk : public Desk, public AuditLog {
 public:
  RedisDesk(const Clock& clock, RedisPlan plan, RedisDriver& driver)
      : clock_(clock), plan_(std::move(plan)), driver_(driver) {}

  Async<std::vector<Held>> find(std::string id_begins, std::size_t limit) override;
  Async<KeyList> list(KeyFilter filter, std::string cursor) override;
  Async<void> settle(Digest id, core::Settlement settlement) override;
  Async<AuditEntry> append(std::string text) override;
  Async<std::vector<AuditEntry>> read(std::uint64_t after, std::size_t limit) override;

 private:
  Async<std::optional<Held>> look(Digest id);

  // On the thread of aside_.
  Result<RedisConnection*> connect();
  Result<std::vector<RespValue>> ask(const std::string& commands, std::size_t replies);
  Result<std::vector<Held>> look_at(const std::vector<std::string>& names, Time& at);
  Result<std::vector<Digest>> search(const std::string& id_begins, std::size_t limit);
  Result<std::optional<Digest>> last_event(const Digest& object);
  Result<KeyList> list_now(const KeyFilter& filter, const std::string& cursor);
  Result<std::vector<AuditEntry>> read_now(std::uint64_t after, std::size_t limit);
  Result<AuditEntry> last_entry();

  const Clock& clock_;
  const RedisPlan plan_;
  RedisDriver& driver_;
  std::optional<RedisConnection> connection_;
  Aside aside_;
};

}  // namespace semel::store::redis
