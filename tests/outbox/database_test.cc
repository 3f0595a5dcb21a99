// An outbox in a real database: what a mover sees of what programs send, and what the roles may do.
#include "outbox/database.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <libpq-fe.h>

#include <gtest/gtest.h>

#include "outbox/migrate.h"
#include "outbox/schema.h"
#include "support/postgres_server.h"
#include <semel/clock.h>
#include <semel/outbox.h>
#include <semel/result.h>

namespace semel::outbox {
namespace {

using PgConnection = std::unique_ptr<PGconn, decltype(&PQfinish)>;

class OutboxTest : public testing::Test {
 protected:
  OutboxTest() : url_(test::PostgresServer::shared().fresh_database()) {
    const Result<OutboxMigrated> migrated = migrate_outbox(*clock_, url_, {});
    if (!migrated) throw std::runtime_error(migrated.error().detail);
    mover_ = std::make_unique<OutboxDatabase>(*clock_, url_, 1);
    if (const Result<void> opened = mover_->open(); !opened) throw std::runtime_error(opened.error().detail);
  }

  [[nodiscard]] PgConnection connect(const std::string& more = {}) const {
    return {PQconnectdb((url_ + more).c_str()), &PQfinish};
  }
  // "" or what went wrong.
  static std::string run(const PgConnection& connection, const std::string& sql) {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection.get(), sql.c_str()), &PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ? "" : PQerrorMessage(connection.get());
  }
  static std::string value(const PgConnection& connection, const std::string& sql) {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection.get(), sql.c_str()), &PQclear);
    return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : PQerrorMessage(connection.get());
  }
  static std::string send(const std::string& key, const std::string& more = {}) {
    return "SELECT semel.send('mailer', '" + key + "', '{}'" + more + ")";
  }
  // Takes all there is, for good.
  std::vector<std::string> moved() {
    if (mover_->look().value() == OutboxLook::elsewhere) return {"elsewhere"};
    std::vector<std::string> keys;
    for (const OutboxRow& row : mover_->take(500).value()) keys.push_back(row.key);
    EXPECT_TRUE(mover_->commit().has_value());
    return keys;
  }

  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::string url_;
  std::unique_ptr<OutboxDatabase> mover_;
};

using Keys = std::vector<std::string>;

// O1: what was rolled back was never sent; what was committed is there once.
TEST_F(OutboxTest, HasWhatWasCommitted) {
  const PgConnection app = connect();
  ASSERT_EQ(run(app, "BEGIN;" + send("undone") + ";ROLLBACK"), "");
  ASSERT_EQ(run(app, "BEGIN;" + send("done") + ";COMMIT"), "");
  EXPECT_EQ(moved(), Keys{"done"});
  EXPECT_EQ(moved(), Keys{});
}

// O2: a row that commits after one with a higher number is moved all the same. A cursor over numbers would lose it.
TEST_F(OutboxTest, HasWhatCommitsLate) {
  const PgConnection slow = connect();
  const PgConnection fast = connect();
  ASSERT_EQ(run(slow, "BEGIN;" + send("slow")), "");
  ASSERT_EQ(run(fast, send("fast")), "");
  EXPECT_EQ(moved(), Keys{"fast"});
  ASSERT_EQ(run(slow, "COMMIT"), "");
  EXPECT_EQ(moved(), Keys{"slow"});
}

// What was taken comes again if the mover dies before it has committed.
TEST_F(OutboxTest, GivesBackWhatWasNotMoved) {
  const PgConnection app = connect();
  ASSERT_EQ(run(app, send("a")), "");
  ASSERT_EQ(mover_->look().value(), OutboxLook::something);
  ASSERT_EQ(mover_->take(500).value().size(), 1U);
  mover_->roll_back();
  ASSERT_EQ(mover_->take(500).value().size(), 1U);
  mover_->close();
  ASSERT_TRUE(mover_->open().has_value());
  EXPECT_EQ(moved(), Keys{"a"});
}

// O4: transactions of one object commit in the order of their numbers, because the second waits for the first; others
// do not wait.
TEST_F(OutboxTest, OrdersTheTransactionsOfAnObject) {
  const PgConnection first = connect();
  const PgConnection second = connect();
  ASSERT_EQ(run(first, "BEGIN;" + send("first", ", object => 'order:1'")), "");
  ASSERT_EQ(run(second, "SET lock_timeout = '50ms'"), "");
  EXPECT_NE(run(second, send("too early", ", object => 'order:1'")), "");
  EXPECT_EQ(run(second, send("another", ", object => 'order:2'")), "");
  ASSERT_EQ(run(first, "COMMIT"), "");
  EXPECT_EQ(run(second, send("second", ", object => 'order:1'")), "");
  EXPECT_EQ(moved(), (Keys{"first", "another", "second"}));
}

// Of all processes one moves. Another one does when that has left, and not while its transaction is open.
TEST_F(OutboxTest, IsMovedByOne) {
  OutboxDatabase other(*clock_, url_, 2);
  ASSERT_TRUE(other.open().has_value());
  const PgConnection app = connect();
  ASSERT_EQ(run(app, send("a")), "");
  ASSERT_EQ(mover_->look().value(), OutboxLook::something);
  EXPECT_EQ(other.look().value(), OutboxLook::elsewhere);
  EXPECT_TRUE(other.take(500).value().empty());
  other.roll_back();
  ASSERT_EQ(mover_->take(500).value().size(), 1U);
  ASSERT_EQ(run(app, "SELECT setval('semel.outbox_until', 0)"), "");  // as if its lease had lapsed
  EXPECT_EQ(other.look().value(), OutboxLook::elsewhere);
  mover_->roll_back();
  mover_->leave();
  EXPECT_EQ(other.look().value(), OutboxLook::something);
  EXPECT_EQ(mover_->look().value(), OutboxLook::elsewhere);
}

// Tables take turns and are truncated, also while somebody holds a snapshot of the time before; but not while a
// transaction that has written to one is open, and nothing is lost by it.
TEST_F(OutboxTest, TruncatesTablesInTurns) {
  const PgConnection reader = connect();
  ASSERT_EQ(run(reader, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM pg_class LIMIT 1"), "");
  const PgConnection app = connect();
  const PgConnection slow = connect();
  const auto size = [&](const std::string& table) {
    return value(app, "SELECT pg_relation_size('semel.outbox_" + table + "')");
  };
  ASSERT_EQ(run(app, send("a")), "");
  ASSERT_EQ(run(slow, "BEGIN;" + send("slow")), "");
  ASSERT_EQ(moved(), Keys{"a"});
  EXPECT_EQ(mover_->turn().value(), TableTurn::turned);  // from 0 to 1
  ASSERT_EQ(run(app, send("b")), "");
  EXPECT_NE(size("1"), "0");
  EXPECT_EQ(mover_->turn().value(), TableTurn::turned);   // to 2
  EXPECT_EQ(mover_->turn().value(), TableTurn::blocked);  // 0 has a writer
  ASSERT_EQ(run(slow, "COMMIT"), "");
  EXPECT_EQ(moved(), (Keys{"slow", "b"}));
  EXPECT_EQ(mover_->turn().value(), TableTurn::turned);
  EXPECT_EQ(size("0"), "0");
  EXPECT_EQ(size("1"), "0");
  EXPECT_EQ(value(app, "SELECT last_value FROM semel.outbox_turn"), "0");
  ASSERT_EQ(run(app, send("c")), "");
  EXPECT_EQ(moved(), Keys{"c"});
}

// A transaction whose snapshot is older than its lock would truncate a row that it cannot see.
TEST_F(OutboxTest, TurnsTablesOnlyWhereItSeesWhatWasWrittenLast) {
  const PgConnection app = connect();
  const std::string turn = "SELECT semel.outbox_turn_v1(1, 3000)";
  EXPECT_NE(run(app, "BEGIN ISOLATION LEVEL REPEATABLE READ;" + turn).find("READ COMMITTED"), std::string::npos);
  ASSERT_EQ(run(app, "ROLLBACK"), "");
  const std::string name = value(app, "SELECT current_database()");
  ASSERT_EQ(run(app, "ALTER DATABASE \"" + name + "\" SET default_transaction_isolation = 'repeatable read'"), "");
  OutboxDatabase strict(*clock_, url_, 1);
  ASSERT_TRUE(strict.open().has_value());
  const Result<TableTurn> turned = strict.turn();
  EXPECT_TRUE(turned.has_value()) << (turned ? "" : turned.error().detail);
  ASSERT_EQ(run(connect(), send("later")), "");
  EXPECT_EQ(moved(), Keys{"later"});
}

// Nothing that waits is truncated: what was written to a table long after its turn stays.
TEST_F(OutboxTest, KeepsWhatWasWrittenToATableThatIsNotItsTurn) {
  const PgConnection app = connect();
  ASSERT_EQ(run(app, send("a")), "");
  ASSERT_EQ(mover_->look().value(), OutboxLook::something);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(mover_->turn().has_value());
  EXPECT_EQ(moved(), Keys{"a"});
}

// A batch has at most so many rows, lowest numbers first.
TEST_F(OutboxTest, GivesRowsInTheirOrder) {
  const PgConnection app = connect();
  for (const char* key : {"a", "b", "c"}) ASSERT_EQ(run(app, send(key)), "");
  ASSERT_EQ(mover_->look().value(), OutboxLook::something);
  const std::vector<OutboxRow> rows = mover_->take(2).value();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].key + rows[1].key, "ab");
  EXPECT_LT(rows[0].seq, rows[1].seq);
  ASSERT_TRUE(mover_->commit().has_value());
  const OutboxBacklog left = mover_->backlog().value();
  EXPECT_EQ(left.waiting, 1U);
  EXPECT_EQ(moved(), Keys{"c"});
  EXPECT_EQ(mover_->backlog().value().waiting, 0U);
}

// Whatever type the body has, and whatever is in it.
TEST_F(OutboxTest, CarriesBodiesAndTimes) {
  const PgConnection app = connect();
  ASSERT_EQ(run(app, "SELECT semel.send('mailer', 'text', 'Grüße')"), "");
  ASSERT_EQ(run(app, "SELECT semel.send('mailer', 'json', '{\"a\": 1}'::jsonb)"), "");
  ASSERT_EQ(run(app, "SELECT semel.send('mailer', 'bytes', '\\x00ff'::bytea, headers => '{\"X-A\": \"b\"}')"), "");
  ASSERT_EQ(run(app, send("later", ", not_before => now() + interval '1 hour'")), "");
  ASSERT_EQ(mover_->look().value(), OutboxLook::something);
  const std::vector<OutboxRow> rows = mover_->take(500).value();
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].body, "Grüße");
  EXPECT_FALSE(rows[0].raw);
  EXPECT_EQ(rows[1].body, "{\"a\": 1}");
  EXPECT_EQ(rows[2].body, std::string("\0\xff", 2));
  EXPECT_TRUE(rows[2].raw);
  EXPECT_EQ(rows[2].headers, "{\"X-A\": \"b\"}");
  EXPECT_EQ(rows[0].wait, Millis{0});
  EXPECT_GT(rows[3].wait, Millis{3'500'000});
  EXPECT_LE(rows[3].wait, Millis{3'600'000});
}

TEST_F(OutboxTest, RefusesWhatCannotBeSent) {
  const PgConnection app = connect();
  for (const std::string call : {"'', 'k', '{}'", "'mailer', '', '{}'", "'mailer', NULL, '{}'",
                                 "'mailer', 'k', NULL::text", "'mailer', 'k', '{}', headers => '[1]'",
                                 "'mailer', 'k', '{}', headers => '{\"a\": 1}'", "'mailer', repeat('k', 256), '{}'"}) {
    EXPECT_NE(run(app, "SELECT semel.send(" + call + ")").find("semel.send: "), std::string::npos) << call;
  }
  EXPECT_EQ(moved(), Keys{});
}

// Headers that nobody could send are refused where they are sent, and the words say which rule they break.
TEST_F(OutboxTest, RefusesHeadersThatCannotBeSent) {
  const PgConnection app = connect();
  const std::vector<std::pair<std::string, std::string_view>> table{
      {R"('{"X-A": "1", "x-a": "2"}')", "headers has one name in two spellings"},
      {R"('{"content-type": "a/b", "Content-Type": "a/c"}')", "headers has one name in two spellings"},
      {R"('{"X A": "1"}')", "a header needs a name of letters, digits and -"},
      {R"('{"": "1"}')", "a header needs a name"},
      {R"('{"X-\u00e4": "1"}')", "a header needs a name"},
      {R"('{"X-A\n": "1"}')", "a header needs a name"},
      {R"('{"X-A": "a\r\nb: c"}')", "a value without control characters"},
      {R"('{"X-A": " 1"}')", "a value without control characters"},
      {R"('{"X-A": "1\t"}')", "a value without control characters"},
      {R"('{"Idempotency-Key": ""}')", "the header Idempotency-Key must have 1 to 255 characters"},
      {R"('{"idempotency-key": "\"\""}')", "the header Idempotency-Key must have 1 to 255 characters"},
      {R"('{"Idempotency-Key": "\u00e4"}')", "the header Idempotency-Key must have 1 to 255 characters"},
      {"jsonb_build_object('Idempotency-Key', repeat('k', 256))", "the header Idempotency-Key must have 1 to 255"},
      {"jsonb_build_object('X-A', repeat('a', 3000000))", "headers must be at most 64 KiB"},
      {"(SELECT jsonb_object_agg('X-' || i, 'some text') FROM generate_series(1, 5000) i)", "at most 64 KiB"},
  };
  for (const auto& [headers, words] : table) {
    const std::string said = run(app, send("k", ", headers => " + headers));
    EXPECT_TRUE(said.contains("semel.send: ") && said.contains(words)) << headers << ": " << said;
  }
  EXPECT_EQ(moved(), Keys{});
  const std::string fine = R"({"X-A": "", "X-B!#$%&''*+.^_`|~": "a\tb \u00e4", "x-c": "1"})";
  EXPECT_EQ(run(app, send("k", ", headers => '" + fine + "'")), "");
  EXPECT_EQ(run(app, send("l", ", headers => '{}'")), "");
  EXPECT_EQ(run(app, send("m", ", headers => jsonb_build_object('Idempotency-Key', repeat('k', 255))")), "");
  EXPECT_EQ(moved(), (Keys{"k", "l", "m"}));
}

// Least rights: who sends can only send, who moves can only move.
TEST_F(OutboxTest, GivesRolesNoMoreThanTheyNeed) {
  const PgConnection owner = connect();
  ASSERT_EQ(run(owner,
                "DROP ROLE IF EXISTS outbox_app; DROP ROLE IF EXISTS outbox_mover; CREATE ROLE outbox_app LOGIN; "
                "CREATE ROLE outbox_mover LOGIN"),
            "");
  ASSERT_TRUE(migrate_outbox(*clock_, url_, {.writer = "outbox_app", .mover = "outbox_mover"}).has_value());
  const PgConnection app = connect("&user=outbox_app");
  const PgConnection mover = connect("&user=outbox_mover");
  EXPECT_EQ(run(app, send("a")), "");
  EXPECT_NE(run(mover, send("b")), "");
  for (const std::string table : {"outbox_0", "outbox_1", "outbox_2", "outbox_seq", "outbox_turn"}) {
    EXPECT_NE(run(app, "SELECT * FROM semel." + table), "") << table;
    EXPECT_NE(run(mover, "SELECT * FROM semel." + table), "") << table;
    EXPECT_NE(run(app, "INSERT INTO semel." + table + " DEFAULT VALUES"), "") << table;
  }
  EXPECT_NE(run(app, "SELECT semel.outbox_look_v1(1, 1000)"), "");
  OutboxDatabase other(*clock_, url_ + "&user=outbox_mover", 3);
  ASSERT_TRUE(other.open().has_value());
  ASSERT_EQ(other.look().value(), OutboxLook::something);
  EXPECT_EQ(other.take(500).value().size(), 1U);
  EXPECT_TRUE(other.commit().has_value());
  EXPECT_EQ(other.turn().value(), TableTurn::turned);
  EXPECT_EQ(other.backlog().value().waiting, 0U);
  ASSERT_EQ(run(owner, "DROP OWNED BY outbox_app, outbox_mover; DROP ROLE outbox_app, outbox_mover"), "");
}

// Again and again, also where the schema is that of a store.
TEST_F(OutboxTest, IsMigratedOnce) {
  const Result<OutboxMigrated> again = migrate_outbox(*clock_, url_, {});
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->from, outbox_version);
  ASSERT_EQ(run(connect(), "INSERT INTO semel.outbox_version VALUES (99)"), "");
  EXPECT_TRUE(migrate_outbox(*clock_, url_, {}).error().detail.contains("newer"));
  mover_->close();
  EXPECT_TRUE(mover_->open().error().detail.contains("semel migrate --outbox"));
}

// The library sends within the caller's transaction, and says what is wrong.
TEST_F(OutboxTest, IsSentToByTheLibrary) {
  const PgConnection app = connect();
  Effect effect{.destination = "mailer", .key = "k", .body = std::string("{\"a\":\"\0\"}", 9)};
  EXPECT_EQ(semel::send(app.get(), effect).error().code, Code::invalid);  // no transaction
  ASSERT_EQ(run(app, "BEGIN"), "");
  effect.object = "order:1";
  effect.not_before = Time{Millis{4'102'444'800'000}};  // 2100
  effect.headers = {{.name = "X-A", .value = "it's \"b\""}};
  ASSERT_TRUE(semel::send(app.get(), effect).has_value());
  ASSERT_EQ(run(app, "COMMIT"), "");
  ASSERT_EQ(run(app, "BEGIN"), "");
  effect.headers = {{.name = "X-A", .value = "1"}, {.name = "x-a", .value = "2"}};
  EXPECT_EQ(semel::send(app.get(), effect).error().detail, "the header x-a is there twice: send it once");
  effect.headers.clear();
  effect.key.clear();
  const Result<void> keyless = semel::send(app.get(), effect);
  EXPECT_EQ(keyless.error().code, Code::invalid);
  EXPECT_TRUE(keyless.error().detail.contains("key must be 1 to 255 bytes")) << keyless.error().detail;
  ASSERT_EQ(run(app, "ROLLBACK"), "");
  ASSERT_EQ(mover_->look().value(), OutboxLook::something);
  const std::vector<OutboxRow> rows = mover_->take(500).value();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].body, effect.body);
  EXPECT_EQ(rows[0].object, "order:1");
  EXPECT_GT(rows[0].wait, Millis{1'000'000});
  EXPECT_TRUE(rows[0].headers.contains("it's \\\"b\\\"")) << rows[0].headers;
}

// What no mover could do anything with is refused where it is sent: a row that cannot be read would stop all others.
TEST_F(OutboxTest, RefusesWhatCannotBeMoved) {
  const PgConnection app = connect();
  for (const char* never : {"infinity", "-infinity"}) {
    const std::string said = run(app, send("never", std::string(", not_before => '") + never + "'"));
    EXPECT_TRUE(said.contains("not_before must be a time")) << said;
  }
  for (const char* nobody : {"", "a b", "a\nb", "a\"b", "\xC3\xA4"}) {
    const std::string said = run(app, std::string("SELECT semel.send('") + nobody + "', 'k', '{}')");
    EXPECT_TRUE(said.contains("destination must be")) << said;
  }
  // Rows of a program that was never told.
  ASSERT_EQ(run(app,
                "INSERT INTO semel.outbox_0 (sent_at, not_before, raw, destination, key, object, body) "
                "VALUES (now(), 'infinity', false, 'mailer', 'old', '', '{}')"),
            "");
  ASSERT_EQ(run(app, send("k1")), "");
  EXPECT_EQ(moved(), (std::vector<std::string>{"old", "k1"}));
}

// Objects whose names have one hash of 32 bits are strangers to each other all the same.
TEST_F(OutboxTest, MakesNobodyWaitForAnotherObject) {
  const PgConnection first = connect();
  const PgConnection second = connect();
  ASSERT_EQ(value(first,
                  "SELECT hashtext('mailer' || chr(1) || 'order:1779') = hashtext('mailer' || chr(1) || "
                  "'order:166166')"),
            "t");
  ASSERT_EQ(run(first, "BEGIN"), "");
  ASSERT_EQ(run(first, send("k1", ", object => 'order:1779'")), "");
  ASSERT_EQ(run(second, "SET lock_timeout = '300ms'"), "");
  EXPECT_EQ(run(second, send("k2", ", object => 'order:166166'")), "");
  EXPECT_NE(run(second, send("k3", ", object => 'order:1779'")), "") << "this one does wait";
  ASSERT_EQ(run(first, "COMMIT"), "");
}

}  // namespace
}  // namespace semel::outbox
