#include "inbox/inbox_database.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/crypto.h"
#include "store/capable_store.h"
#include <semel/clock.h>
#include <semel/result.h>
#include <semel/stores.h>
#ifdef SEMEL_HAS_POSTGRES
#include "store/postgres/admin.h"
#include "support/pgbouncer.h"
#include "support/postgres_server.h"
#endif

namespace semel::test {

#ifdef SEMEL_HAS_POSTGRES

std::shared_ptr<InboxDatabase> InboxDatabase::fresh() {
  std::string url = PostgresServer::shared().fresh_database();
  std::string name = url.substr(url.find("test_"), url.find('?') - url.find("test_"));
  return std::make_shared<InboxDatabase>(std::move(url), std::move(name));
}

std::shared_ptr<InboxDatabase> InboxDatabase::of(InboxServer server, bool sealed) {
  static const std::shared_ptr<InboxDatabase> plain = fresh();
  static const std::shared_ptr<InboxDatabase> encrypted = fresh();
  if (sealed) return encrypted;
  if (server == InboxServer::postgres) return plain;
  return std::make_shared<InboxDatabase>(PgBouncer::shared().url(plain->name_), plain->name_);
}

std::string InboxDatabase::run(const std::string& sql) const {
  return PostgresServer::shared().run(sql, name_);
}

store::CapableStore InboxDatabase::open(Clock& clock, const std::vector<core::AesKey>& keys) const {
  PostgresOptions options;
  options.urls = {url_};
  options.time_max = Millis{30'000};
  Result<store::CapableStore> store = store::postgres::open_with_keys(clock, options, keys, contract_beat);
  if (!store) throw std::runtime_error(store.error().detail);
  return *std::move(store);
}

#else

std::shared_ptr<InboxDatabase> InboxDatabase::fresh() {
  throw std::runtime_error("built without PostgreSQL");
}
std::shared_ptr<InboxDatabase> InboxDatabase::of(InboxServer /*server*/, bool /*sealed*/) {
  return fresh();
}
std::string InboxDatabase::run(const std::string& /*sql*/) const {
  return {};
}
store::CapableStore InboxDatabase::open(Clock& /*clock*/, const std::vector<core::AesKey>& /*keys*/) const {
  return {};
}

#endif

void InboxDatabase::clear() const {
  run("TRUNCATE semel.keys, semel.objects, semel.doubts, semel.inbox_events, semel.inbox_parcels, "
      "semel.inbox_deliveries, semel.inbox_due, semel.inbox_taken, semel.inbox_lines, semel.inbox_newest, "
      "semel.inbox_drops, semel.inbox_figures, semel.inbox_begins, semel.inbox_controls, semel.inbox_holders, "
      "semel.inbox_jobs, "
      "semel.inbox_job_counts, semel.inbox_leads");
}

void InboxDatabase::age(Millis by) const {
  const std::string ms = std::to_string(by.count());
  const std::string interval = "interval '" + ms + " milliseconds'";
  run("BEGIN; DELETE FROM semel.inbox_begins; UPDATE semel.keys SET claimed_at = claimed_at - " + interval +
      ", lease_until = lease_until - " + interval + ", expires_at = expires_at - " + interval +
      "; UPDATE semel.inbox_events SET expires_at = expires_at - " + ms +
      "; UPDATE semel.inbox_deliveries SET due = due - " + ms + ", since = since - " + ms + ", changed = changed - " +
      ms + ", drop_at = CASE drop_at WHEN 0 THEN 0 ELSE drop_at - " + ms +
      " END; UPDATE semel.inbox_due SET at = at - " + ms + "; UPDATE semel.inbox_newest SET until = until - " + ms +
      "; UPDATE semel.inbox_drops SET at = at - " + ms +
      "; UPDATE semel.inbox_holders SET alive_until = alive_until - " + ms +
      "; UPDATE semel.inbox_jobs SET planned_at = planned_at - " + ms +
      "; UPDATE semel.inbox_leads SET free_at = free_at - " + ms + "; COMMIT");
}

}  // namespace semel::test
