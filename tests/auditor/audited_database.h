// A business with a table of payments in a real database, and a store with their keys.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "auditor/auditor.h"
#include "auditor/effect_source.h"
#include "auditor/key_look.h"
#include "config/audit.h"
#include "reading/secret.h"
#include "store/capable_store.h"
#include "store/memory.h"
#include "support/postgres_server.h"
#include "support/run.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/store.h>

namespace semel::test {

class AuditedDatabase : public testing::Test {
 protected:
  AuditedDatabase() {
    const std::string url = server().fresh_database();
    database_ = url.substr(url.find("test_"), url.find('?') - url.find("test_"));
    run_sql(
        "CREATE TABLE payments (id text, idempotency_key text, account text, amount int, created_at timestamptz); "
        "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'audit_reader') THEN "
        "CREATE ROLE audit_reader LOGIN; END IF; END $$; GRANT SELECT ON payments TO audit_reader");
    audit_.name = "payments";
    audit_.database = reading::Secret(url_as("audit_reader"));
    audit_.query =
        "SELECT idempotency_key AS key, account AS scope, id AS effect, created_at AS at, amount::text AS value "
        "FROM payments WHERE created_at >= $1 AND created_at < $2";
    audit_.settle = Millis{0};
    audit_.every = Millis{1'000};
    audit_.ttls = {Millis{86'400'000}};
  }

  static PostgresServer& server() { return PostgresServer::shared(); }
  [[nodiscard]] std::string url_as(const std::string& role) const {
    std::string url = server().url(database_);
    return url.replace(url.find("user=postgres"), 13, "user=" + role);
  }
  std::string run_sql(const std::string& sql) const { return server().run(sql, database_); }

  // One payment, some seconds ago.
  void pay(const std::string& id, const std::string& key, int seconds_ago = 60, int amount = 1) const {
    run_sql("INSERT INTO payments VALUES ('" + id + "', " + (key.empty() ? "NULL" : "'" + key + "'") + ", 'acme', " +
            std::to_string(amount) + ", now() - interval '" + std::to_string(seconds_ago) + " seconds')");
  }

  enum class Ends : std::uint8_t { done, refused, unknown, released, running };
  // A key of the account, as a gateway would have left it. `request` 0: another one than that of any other key.
  void key(const std::string& text, Ends ends = Ends::done, std::uint8_t request = 0) {
    const Key key = make_key("default", "acme", text).value();
    Fingerprint fingerprint;
    Terms terms;
    terms.owner = ++owners_;
    fingerprint.digest[0] = request;
    if (request == 0) fingerprint.digest[1] = static_cast<std::uint8_t>(owners_);
    const Result<Claim> claimed = test::run(store_.store->claim(key, fingerprint, terms));
    const Fence fence = std::get<Granted>(claimed.value()).fence;
    auto answer = std::make_shared<Response>();
    answer->status = ends == Ends::refused ? 402 : 201;
    if (ends == Ends::done || ends == Ends::refused) {
      ASSERT_TRUE(test::run(store_.store->complete(key, fence, answer)));
    }
    if (ends == Ends::unknown) ASSERT_TRUE(test::run(store_.store->complete(key, fence, nullptr)));
    if (ends == Ends::released) ASSERT_TRUE(test::run(store_.store->release(key, fence)));
  }

  auditor::KeySources keys() {
    return {.lookup = *store_.lookup, .desk = store_.desk, .history = store_.history, .roll = store_.roll};
  }
  auditor::EffectSource source() {
    Result<auditor::EffectSource> opened = auditor::EffectSource::open(*clock_, audit_);
    if (!opened) throw std::runtime_error(opened.error().detail);
    return *std::move(opened);
  }

  std::unique_ptr<Clock> clock_ = make_system_clock();
  store::CapableStore store_ = store::make_capable_memory_store(*clock_);
  std::string database_;
  config::AuditConfig audit_;
  std::uint64_t owners_ = 0;
};

}  // namespace semel::test
