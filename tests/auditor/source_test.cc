// What an audit asks of its database before it believes it.
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "auditor/audited_database.h"
#include "auditor/effect_source.h"
#include <semel/result.h>

namespace semel::test {
namespace {

class AuditSource : public AuditedDatabase {
 protected:
  std::string refusal() {
    const Result<void> checked = source().check();
    return checked ? "fine" : checked.error().detail;
  }
};

// A role that has nothing but SELECT is what is asked for.
TEST_F(AuditSource, TakesARoleThatOnlyReads) {
  EXPECT_EQ(refusal(), "fine");
}

// Each way to write is refused: the reason names the right, and what it says to run takes exactly that away. READ ONLY
// alone would be a promise of ours, not of the server.
TEST_F(AuditSource, RefusesARoleThatMayWrite) {
  const auto refuses = [&](const std::string& grant, std::string_view words) {
    run_sql(grant);
    const std::string why = refusal();
    EXPECT_NE(why.find(words), std::string::npos) << grant << ": " << why;
    const std::size_t at = why.find("; run: ");
    ASSERT_NE(at, std::string::npos) << why;
    std::string remedy = why.substr(at + 7, why.find(" (or make") - at - 7);
    if (const std::size_t other = remedy.find("another_role"); other != std::string::npos) {
      remedy.replace(other, 12, "postgres");
    }
    run_sql(remedy);
    EXPECT_EQ(refusal(), "fine") << grant << ": " << remedy;
  };
  refuses("GRANT INSERT ON payments TO audit_reader", "the role audit_reader may write to payments (INSERT)");
  refuses("GRANT TRUNCATE ON payments TO audit_reader", "may write to payments (TRUNCATE)");
  refuses("GRANT TRIGGER ON payments TO audit_reader", "may write to payments (TRIGGER)");
  refuses("GRANT UPDATE (amount) ON payments TO audit_reader", "may write to payments (UPDATE of amount)");
  refuses("CREATE TABLE \"Other one\" (x int); GRANT DELETE ON \"Other one\" TO PUBLIC",
          "every role (PUBLIC) may write to \"Other one\" (DELETE)");
  refuses("CREATE TABLE owned (x int); ALTER TABLE owned OWNER TO audit_reader", "may write to owned, which it owns");
  refuses("CREATE MATERIALIZED VIEW seen AS SELECT 1; ALTER MATERIALIZED VIEW seen OWNER TO audit_reader", "to seen");
  refuses("CREATE SEQUENCE steps; GRANT USAGE ON SEQUENCE steps TO audit_reader",
          "may move the sequence steps (USAGE)");
  refuses("GRANT UPDATE ON SEQUENCE steps TO audit_reader", "may move the sequence steps (UPDATE)");
  refuses("CREATE SCHEMA place; GRANT CREATE ON SCHEMA place TO audit_reader",
          "make tables in the schema place (CREATE)");
  refuses("GRANT CREATE ON SCHEMA public TO PUBLIC",
          "every role (PUBLIC) may make tables in the schema public (CREATE)");
  refuses("ALTER SCHEMA place OWNER TO audit_reader", "owns the schema place");
  refuses("GRANT CREATE ON DATABASE " + database_ + " TO audit_reader", "may make schemas in the database (CREATE)");
  refuses("ALTER DATABASE " + database_ + " OWNER TO audit_reader", "owns the database " + database_);
  refuses("ALTER ROLE audit_reader CREATEROLE", "may make roles");
  refuses("ALTER ROLE audit_reader CREATEDB", "may make databases");
  refuses("ALTER ROLE audit_reader SUPERUSER", "is a superuser");
  refuses("GRANT pg_write_all_data TO audit_reader", "a member of pg_write_all_data, which may write to every table");
  refuses("GRANT pg_execute_server_program TO audit_reader", "pg_execute_server_program");
  refuses("GRANT pg_write_server_files TO audit_reader", "pg_write_server_files");
  audit_.database = reading::Secret(url_as("postgres"));
  EXPECT_NE(refusal().find("is a superuser"), std::string::npos);
}

// A right of a role that it could become is its own: also without inheritance, over another role, and from a session
// that has taken a harmless role on.
TEST_F(AuditSource, RefusesARoleThatCanBecomeOneThatMayWrite) {
  run_sql(
      "CREATE ROLE audit_writer; CREATE ROLE audit_between; GRANT audit_writer TO audit_between; "
      "ALTER ROLE audit_reader NOINHERIT; GRANT audit_between TO audit_reader; CREATE SEQUENCE steps");
  EXPECT_EQ(refusal(), "fine");
  for (const std::string grant :
       {"GRANT INSERT ON payments TO audit_writer", "GRANT USAGE ON SEQUENCE steps TO audit_writer",
        "GRANT CREATE ON SCHEMA public TO audit_writer", "GRANT pg_write_server_files TO audit_writer",
        "ALTER TABLE payments OWNER TO audit_writer", "ALTER ROLE audit_writer SUPERUSER"}) {
    run_sql(grant);
    EXPECT_NE(refusal().find("; run: REVOKE audit_between FROM audit_reader"), std::string::npos) << refusal();
    run_sql(
        "ALTER ROLE audit_writer NOSUPERUSER; REVOKE pg_write_server_files FROM audit_writer; "
        "ALTER TABLE payments OWNER TO postgres; DROP OWNED BY audit_writer");
    EXPECT_EQ(refusal(), "fine") << grant;
  }
  run_sql("DROP ROLE audit_writer; DROP ROLE audit_between; ALTER ROLE audit_reader INHERIT");
  audit_.database = reading::Secret(url_as("postgres") + "&options=-c%20role%3Daudit_reader");
  EXPECT_NE(refusal().find("the role postgres is a superuser"), std::string::npos) << refusal();
}

// What a reader needs, and the temporary tables that every role may make, are no reason to refuse.
TEST_F(AuditSource, TakesWhatReadersNeed) {
  run_sql(
      "CREATE SEQUENCE steps; GRANT SELECT ON SEQUENCE steps TO audit_reader; GRANT USAGE ON SCHEMA public TO "
      "audit_reader; GRANT TEMPORARY ON DATABASE " +
      database_ +
      " TO audit_reader; GRANT REFERENCES ON payments TO "
      "audit_reader; GRANT pg_read_all_data, pg_monitor TO audit_reader; GRANT EXECUTE ON FUNCTION now() TO "
      "audit_reader");
  EXPECT_EQ(refusal(), "fine");
  run_sql("REVOKE pg_read_all_data, pg_monitor FROM audit_reader");
}

// What the text of a query did not show, the database does.
TEST_F(AuditSource, RefusesAQueryThatTheDatabaseDoesNotTake) {
  const std::string window = " FROM payments WHERE created_at >= $1 AND created_at < $2";
  const std::vector<std::pair<std::string, std::string_view>> table{
      {"SELECT *" + window, "needs the columns key, scope, effect, at (a time) and value"},
      {"SELECT 1 AS key, 2 AS scope, 3 AS effect, 4 AS at, 5 AS value" + window, "at (a time)"},
      {"SELECT key, scope, effect, at, value FROM nowhere WHERE at >= $1 AND at < $2", "does not take the query"},
      {"SELECT key, scope, effect, at, value FROM (SELECT" + window, "does not take the query"},
  };
  for (const auto& [query, words] : table) {
    audit_.query = query;
    EXPECT_NE(refusal().find(words), std::string::npos) << query << ": " << refusal();
  }
}

// Nothing is written, whatever the query calls.
TEST_F(AuditSource, CannotWriteThroughAFunction) {
  run_sql(
      "CREATE TABLE diary (x int); CREATE FUNCTION note() RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS "
      "$$ BEGIN INSERT INTO diary VALUES (1); RETURN 'x'; END $$");
  pay("p1", "k1");
  audit_.query =
      "SELECT idempotency_key AS key, note() AS scope, id AS effect, created_at AS at, NULL AS value FROM payments "
      "WHERE created_at >= $1 AND created_at < $2";
  auditor::EffectSource reader = source();
  ASSERT_TRUE(reader.begin());
  const Time now = clock_->wall();
  const auto take = [](const auditor::EffectRow&) { return Result<void>(); };
  const Result<void> read = reader.read({.from = now - Millis{3'600'000}, .to = now}, {}, {}, take);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().detail.find("read-only transaction"), std::string::npos) << read.error().detail;
  EXPECT_EQ(run_sql("SELECT count(*) FROM diary"), "0");
}

// A column without a time zone holds times of the database's zone, and the window is compared with them there.
TEST_F(AuditSource, ReadsTimesOfTheDatabasesOwnZone) {
  run_sql("ALTER DATABASE " + database_ + " SET timezone = 'America/New_York'");
  run_sql(
      "SET timezone = 'America/New_York'; CREATE TABLE refunds (id text, at timestamp NOT NULL DEFAULT now()); "
      "INSERT INTO refunds (id) VALUES ('r1'), ('r2'); GRANT SELECT ON refunds TO audit_reader");
  audit_.query =
      "SELECT 'k' AS key, 'acme' AS scope, id AS effect, at, NULL AS value FROM refunds WHERE at >= $1 AND at < $2";
  EXPECT_EQ(refusal(), "fine");
  auditor::EffectSource reader = source();
  ASSERT_TRUE(reader.begin());
  std::multiset<std::string> seen;
  const Time now = clock_->wall();
  const auto take = [&](const auditor::EffectRow& row) -> Result<void> {
    seen.insert(row.effect);
    EXPECT_LE(row.at, now + Millis{60'000});
    EXPECT_GE(row.at, now - Millis{600'000});
    return {};
  };
  const Result<void> read = reader.read({.from = now - Millis{600'000}, .to = now + Millis{60'000}}, {}, {}, take);
  ASSERT_TRUE(read) << read.error().detail;
  EXPECT_EQ(seen, (std::multiset<std::string>{"r1", "r2"}));
}

// Rows come in pieces, each once, with what was planted beside them; shares have every key in one of them.
TEST_F(AuditSource, ReadsEveryRowOnce) {
  run_sql(
      "INSERT INTO payments SELECT 'p' || i, CASE WHEN i % 100 = 0 THEN NULL ELSE 'k' || i END, 'acme', 1, "
      "now() - interval '1 minute' FROM generate_series(1, 12000) i");
  const Time now = clock_->wall();
  for (const std::uint32_t shares : {1U, 4U}) {
    auditor::EffectSource reader = source();
    ASSERT_TRUE(reader.begin());
    std::multiset<std::string> seen;
    int planted = 0;
    for (std::uint32_t number = 0; number < shares; ++number) {
      const auto take = [&](const auditor::EffectRow& row) -> Result<void> {
        if (row.key == "plant") ++planted;
        if (row.key != "plant") seen.insert(row.effect);
        return {};
      };
      const Result<void> read =
          reader.read({.from = now - Millis{3'600'000}, .to = now}, {.count = shares, .number = number}, "plant", take);
      ASSERT_TRUE(read) << read.error().detail;
    }
    reader.end();
    EXPECT_EQ(seen.size(), 12'000U);
    EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), 12'000U);
    EXPECT_EQ(planted, static_cast<int>(2 * shares));
  }
}

}  // namespace
}  // namespace semel::test
