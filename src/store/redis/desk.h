// The operator's view of a Redis store. It reads over connections of its own, made when they are first used, so that no
// request waits behind a list; what it writes goes the way of all calls.
//
// A list goes by the index of records that are running or of unknown outcome. A search by the beginning of an id has no
// index: it walks over the names of the server for a bounded time, and says so if that was not enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/settlement.h"
#include "store/aside.h"
#include "store/audit_log.h"
#include "store/call.h"
#include "store/desk.h"
#include "store/redis/asker.h"
#include "store/redis/buckets.h"
#include "store/redis/fleet.h"
#include "store/redis/plan.h"
#include "store/redis/resp.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::redis {

class RedisDesk : public Desk, public AuditLog {
 public:
  RedisDesk(const Clock& clock, const RedisPlan& plan, RedisFleet& fleet)
      : clock_(clock), buckets_(plan.buckets), fleet_(fleet), asker_(clock, plan) {}

  Async<std::vector<Held>> find(std::string id_begins, std::size_t limit) override;
  Async<KeyList> list(KeyFilter filter, std::string cursor) override;
  Async<void> settle(Digest id, core::Settlement settlement) override;
  Async<AuditEntry> append(std::string text) override;
  Async<std::vector<AuditEntry>> read(std::uint64_t after, std::size_t limit) override;

 private:
  // A record's id, and the bucket that it is in.
  struct Whereabouts {
    Digest id{};
    std::size_t bucket = 0;
    friend bool operator==(const Whereabouts&, const Whereabouts&) = default;
  };
  Async<std::optional<Held>> look(Whereabouts at);

  // On the thread of aside_.
  Result<RespValue> ask(std::size_t bucket, std::initializer_list<std::string_view> words);
  Result<std::vector<Held>> look_at(const std::vector<std::string>& names, Time& at);
  Result<Whereabouts> locate(const Digest& id);
  Result<std::vector<Whereabouts>> search(const std::string& id_begins, std::size_t limit);
  Result<void> search_one(std::size_t bucket, const std::string& id_begins, std::vector<Whereabouts>& found);
  Result<std::optional<Digest>> last_event(const Whereabouts& object);
  Result<KeyList> list_now(const KeyFilter& filter, const std::string& cursor);
  Result<std::vector<AuditEntry>> read_now(std::uint64_t after, std::size_t limit);
  Result<AuditEntry> last_entry();

  const Clock& clock_;
  const Buckets buckets_;
  RedisFleet& fleet_;
  BucketAsker asker_;
  Aside aside_;
};

}  // namespace semel::store::redis
