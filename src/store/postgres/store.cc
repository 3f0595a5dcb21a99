// The PostgreSQL store: coroutines in front, one driver behind.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/crypto.h"
#include "core/terms.h"
#include "store/batched_store.h"
#include "store/call.h"
#include "store/capable_store.h"
#include "store/postgres/admin.h"
#include "store/postgres/desk.h"
#include "store/postgres/driver.h"
#include "store/postgres/history.h"
#include "store/postgres/identity.h"
#include "store/postgres/inbox.h"
#include "store/postgres/jobs.h"
#include "store/postgres/listener.h"
#include "store/postgres/notes.h"
#include "store/postgres/pulse.h"
#include "store/postgres/seen.h"
#include "store/postgres/shards.h"
#include "store/postgres/statement.h"
#include "store/remote_changes.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/endings.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>
#include <semel/stores.h>

namespace semel::store::postgres {
namespace {

// As Server::set.
std::string set_of_names(std::vector<std::string> names) {
  std::ranges::sort(names);
  std::string set;
  for (const std::string& name : names) set.append(set.empty() ? "" : " ").append(name);
  return set;
}

constexpr std::size_t sweep_chunk = 1'000;  // so that no connection is busy with it for long

class PostgresStore : public BatchedStore, public Endings, public FormerHome, public RemoteChanges {
 public:
  PostgresStore(Clock& clock, const std::string& url, const std::string& identity, const PostgresOptions& options,
                Millis node_beat)
      : BatchedStore(sweep_chunk),
        listener_(clock, url, options.time_max),
        driver_(clock, driver_options(url, identity, options, options.connections)),
        desk_(clock, driver_options(url, identity, options, 1),
              [this](const Digest& id) { listener_.tell_changed(id); }),
        history_(clock, driver_options(url, identity, options, 1)),
        notes_(clock, driver_options(url, identity, options, 1)),
        inbox_(clock, driver_, driver_options(url, identity, options, 1), node_beat),
        pulse_(clock, history_.driver(), wrote_, newest_, options.state_folder) {}

  Result<void> start() {
    Result<void> started = driver_.start();
    if (started) pulse_.start(driver_.name());
    return started;
  }
  PostgresDesk& desk() { return desk_; }
  PostgresHistory& history() { return history_; }
  PostgresNotes& notes() { return notes_; }
  PostgresInbox& inbox() { return inbox_; }
  PostgresJobs& jobs() { return jobs_; }
  [[nodiscard]] const std::string& set() const { return driver_.set(); }

  Async<std::optional<Claim>> claim_former(Key key, Fingerprint fingerprint, Terms terms) override {
    if (Result<void> sound = core::check_terms(terms); !sound) co_return std::unexpected(std::move(sound.error()));
    StoreCall call = claim_call(std::move(key), fingerprint, std::move(terms));
    FormerClaim former;
    co_await driver_.submit(call, &former);
    if (former.moved) co_return std::nullopt;
    auto& request = std::get<ClaimCall>(call.request);
    if (!request.answer) co_return std::unexpected(std::move(request.answer.error()));
    co_return *std::move(request.answer);
  }

  void watch(std::function<void(const Digest&)> ended) override { listener_.watch(std::move(ended)); }
  void expect(const Key& key) override { listener_.expect(key.id); }
  void watch(std::function<void(const Digest*)> changed) override { listener_.watch_changes(std::move(changed)); }

  Async<bool> reopen(Key key) override {
    Result<bool> reopened = co_await BatchedStore::reopen(key);
    if (!reopened || *reopened) listener_.tell_changed(key.id);  // what was not answered may have been done
    co_return reopened;
  }

 private:
  Task<void> submit(StoreCall& call) override { return driver_.submit(call); }

  DriverOptions driver_options(const std::string& url, const std::string& identity, const PostgresOptions& options,
                               std::size_t connections) {
    return {.url = url,
            .identity = identity,
            .state_folder = options.state_folder,
            .newest = newest_,
            .time_max = options.time_max,
            .connections = connections,
            .waited = [this](const std::vector<Digest>& ids) { listener_.tell(ids); },
            .on_commit =
                [this, told = options.on_commit](std::size_t calls, std::chrono::nanoseconds took) {
                  wrote_.store(true, std::memory_order_relaxed);
                  if (told) told(calls, took);
                }};
  }

  std::atomic<bool> wrote_ = false;
  const std::shared_ptr<NewestSeen> newest_ = std::make_shared<NewestSeen>();
  NotifyListener listener_;  // outlives the driver, which tells it what has ended
  Driver driver_;
  PostgresDesk desk_;
  PostgresHistory history_;
  PostgresNotes notes_;
  PostgresInbox inbox_;
  PostgresJobs jobs_{inbox_};
  Pulse pulse_;
};

}  // namespace

Result<CapableStore> open_with_keys(Clock& clock, const PostgresOptions& options, const std::vector<core::AesKey>& keys,
                                    Millis node_beat) {
  if (options.urls.empty()) return fail(Code::invalid, "a PostgreSQL store needs an address");
  // Before the first connection that takes claims: each of those then makes sure that the identity is still that one.
  const Result<Settled> settled = settle_identity(clock, options.urls, keys, options.time_max);
  if (!settled) return std::unexpected(settled.error());
  std::vector<Shard> shards;
  std::vector<std::string> sets;
  for (const std::string& url : options.urls) {
    auto store = std::make_unique<PostgresStore>(clock, url, settled->name, options, node_beat);
    const Result<void> started = store->start();
    if (!started) return std::unexpected(started.error());
    sets.push_back(store->set());
    Shard& shard = shards.emplace_back();
    shard.former = store.get();
    shard.opened.endings = store.get();
    shard.opened.reopening = store.get();
    shard.opened.lookup = store.get();
    shard.opened.desk = &store->desk();
    shard.opened.audit = &store->desk();
    shard.opened.roll = &store->desk();
    shard.opened.changes = store.get();
    shard.opened.history = &store->history();
    shard.opened.notes = &store->notes();
    shard.opened.inbox = &store->inbox();
    shard.opened.inbox_desk = &store->inbox();
    shard.opened.inbox_jobs = shard.jobs = &store->jobs();
    shard.opened.store = std::move(store);
  }
  Result<ShardNames> names = names_of(clock, options.urls, options.time_max);
  if (!names) return std::unexpected(std::move(names.error()));
  // Calls carry what was found when the store was started, and go by the names.
  const std::string set = set_of_names(names->all);
  if (std::ranges::any_of(sets, [&](const std::string& each) { return each != set; })) {
    return fail(Code::unavailable, "the set of shards has changed while the store was being opened");
  }
  CapableStore opened =
      shards.size() == 1 ? std::move(shards.front().opened) : make_sharded_store(std::move(shards), *std::move(names));
  opened.identity = settled->identity;
  return opened;
}

}  // namespace semel::store::postgres

namespace semel {

Result<OpenedStore> open_postgres_store(Clock& clock, const PostgresOptions& options) {
  return store::postgres::open_with_keys(clock, options, {}, store::postgres::default_node_beat);
}

}  // namespace semel
