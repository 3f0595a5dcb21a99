// Questions to a real PostgreSQL server.
#include "resolver/sql_source.h"

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "config/config.h"
#include "policy/pattern.h"
#include "policy/route.h"
#include "resolver/answer_rows.h"
#include "resolver/at_once.h"
#include "resolver/route_resolver.h"
#include "resolver/ruling.h"
#include "resolver/source.h"
#include "store/capable_store.h"
#include "store/embedded/store.h"
#include "store/history.h"
#include "store/reminder.h"
#include "support/postgres_server.h"
#include "support/run.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>
#include <semel/stores.h>

namespace semel::resolver {
namespace {

using namespace std::chrono_literals;

Digest id_of(const std::string& scope, const std::string& key) {
  return make_key("default", scope, key).value().id;
}

AnswerRules rules() {
  AnswerRules made;
  made.name = [](const std::string& scope, const std::string& key) -> std::optional<Digest> {
    return id_of(scope, key);
  };
  made.store_body_max = 1'000;
  made.replayed_header = "Idempotent-Replayed";
  return made;
}

class SqlSourceTest : public testing::Test {
 protected:
  std::vector<Testimony> ask(SqlQuestion question, const std::vector<std::string>& keys) {
    std::vector<KeyQuestion> questions;
    for (const std::string& key : keys) {
      questions.push_back({.id = id_of(question.scoped ? "alice" : "", key), .key = key, .target = {}});
    }
    const std::unique_ptr<Source> source = make_sql_source(*clock_, std::move(question), rules());
    return test::run(context_, source->ask(std::move(questions)));
  }
  SqlQuestion question(std::string query) {
    return {.url = server_.url(database_), .query = std::move(query), .timeout = 30s};
  }
  void sql(const std::string& text) { server_.run(text, database_); }

  boost::asio::io_context context_{1};
  std::unique_ptr<Clock> clock_ = make_system_clock();
  test::PostgresServer& server_ = test::PostgresServer::shared();
  std::string database_ = fresh(server_);

 private:
  static std::string fresh(const test::PostgresServer& server) {
    static int databases = 0;
    std::string name = "app_" + std::to_string(++databases);
    server.run("CREATE DATABASE " + name);
    return name;
  }
};

constexpr const char* usual = "SELECT key, status, body FROM answers WHERE key = ANY($1);";

// Rows are answers, whatever the types of their columns; a row may have a tenant and a type.
TEST_F(SqlSourceTest, ReadsAnswers) {
  sql("CREATE TABLE answers (key text, account text, status smallint, body bytea, content_type text);"
      "INSERT INTO answers VALUES ('a', 'alice', 201, '\\x00ff', 'application/cbor'), ('b', 'bob', 201, '', ''),"
      "('c \"{}\\', 'alice', NULL, NULL, NULL)");
  SqlQuestion asked =
      question("SELECT key, account AS scope, status, body, content_type FROM answers WHERE key = ANY($1) -- all");
  asked.scoped = true;
  asked.typed = true;
  const std::vector<Testimony> said = ask(std::move(asked), {"a", "b", "c \"{}\\", "d"});
  ASSERT_EQ(said.size(), 4U);
  ASSERT_EQ(said[0].said, SourceSaid::found) << said[0].detail;
  EXPECT_EQ(said[0].answer->body, std::string("\0\xff", 2));
  EXPECT_EQ(said[0].answer->fields.front().value, "application/cbor");
  EXPECT_EQ(said[0].lag, Millis{0}) << "it is the primary";
  EXPECT_EQ(said[1].said, SourceSaid::contradictory);
  EXPECT_EQ(said[2].said, SourceSaid::pending);
  EXPECT_EQ(said[3].said, SourceSaid::absent);
}

// A key that is no value of the column's type is unclear, and the others are answered all the same.
TEST_F(SqlSourceTest, AsksAloneWhatIsRefused) {
  const std::string good = "7f000001-0000-4000-8000-000000000001";
  sql("CREATE TABLE answers (key uuid, status int, body jsonb); INSERT INTO answers VALUES ('" + good +
      "', 200, '{}')");
  const std::vector<Testimony> said = ask(question(usual), {"order-1", good, "7f000001-0000-4000-8000-000000000002"});
  EXPECT_EQ(said[0].said, SourceSaid::unclear);
  EXPECT_EQ(said[1].said, SourceSaid::found);
  EXPECT_EQ(said[2].said, SourceSaid::absent);
}

// What cannot be asked at all says nothing: no server, no table, no such column.
TEST_F(SqlSourceTest, SaysNothingIfItCannotBeAsked) {
  const auto nothing = [&](SqlQuestion asked, std::string_view why) {
    const std::vector<Testimony> said = ask(std::move(asked), {"a", "b"});
    EXPECT_EQ(said[0].said, SourceSaid::nothing);
    EXPECT_EQ(said[1].said, SourceSaid::nothing);
    EXPECT_NE(said[0].detail.find(why), std::string::npos) << said[0].detail;
  };
  nothing(question(usual), "does not exist");
  sql("CREATE TABLE answers (key text, status int, text text)");
  nothing(question(usual), "body");
  SqlQuestion nowhere = question(usual);
  nowhere.url = "postgres:///x?host=/nowhere";
  nothing(std::move(nowhere), "");
}

// A query that writes is refused by the transaction.
TEST_F(SqlSourceTest, WritesNothing) {
  sql("CREATE TABLE answers (key text);"
      "CREATE FUNCTION spoil() RETURNS int LANGUAGE sql AS 'INSERT INTO answers VALUES (''a'') RETURNING 201'");
  const std::vector<Testimony> said =
      ask(question("SELECT key, spoil() AS status, '' AS body FROM unnest($1::text[]) key"), {"a", "b"});
  EXPECT_EQ(said[0].said, SourceSaid::unclear);
  EXPECT_NE(said[0].detail.find("read-only"), std::string::npos) << said[0].detail;
  sql("DO $$ BEGIN ASSERT NOT EXISTS (SELECT FROM answers); END $$");
}

// Ten thousand unknown keys take less than a minute: half of them were done, half were not. SEMEL_RESOLVER_KEYS sets
// how many there are.
class Many {
 public:
  Many(Clock& clock, store::CapableStore& opened) : clock_(clock), opened_(opened) {}

  static Task<bool> lose(Many* self, std::size_t count) {
    const auto one = [self](std::size_t at) { return lose_one(self, at); };
    co_await at_once(&self->clock_, count, 256, one);
    std::vector<store::HistoryRow> rows;
    for (std::size_t i = 0; i < count; ++i) {
      const store::Reminder reminder{.route = "/v1/*", .key = std::to_string(i), .target = {}};
      rows.push_back(to_row(reminder, id_of("", reminder.key), self->clock_.wall()));
    }
    const Result<void> noted = co_await self->opened_.history->append(std::move(rows));
    co_return noted.has_value();
  }
  static Task<bool> round(RouteResolver* resolver) {
    co_await RouteResolver::round(resolver);
    co_return true;
  }

 private:
  static Task<void> lose_one(Many* self, std::size_t at) {
    const Key key = make_key("default", "", std::to_string(at)).value();
    const Terms terms{.lease = 1min, .ttl = 24h, .owner = at + 1};
    const Fingerprint none;
    const Result<Claim> claim = co_await self->opened_.store->claim(key, none, terms);
    const Fence fence = std::get<Granted>(*claim).fence;
    static_cast<void>(co_await self->opened_.store->complete(key, fence, nullptr));
  }

  Clock& clock_;
  store::CapableStore& opened_;
};

Task<void> nobody() {
  co_return;
}

TEST_F(SqlSourceTest, SettlesManyKeysInAMinute) {
  const char* const given = std::getenv("SEMEL_RESOLVER_KEYS");
  const std::size_t count = given == nullptr ? 500 : std::strtoul(given, nullptr, 10);
  sql("CREATE TABLE answers AS SELECT n::text AS key, 201 AS status, '{}' AS body FROM generate_series(0, " +
      std::to_string(count - 1) + ", 2) n");
  std::string folder = (std::filesystem::temp_directory_path() / "semel-resolver-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  EmbeddedOptions options;
  options.path = folder;
  store::CapableStore opened = store::embedded::open_with_keys(*clock_, options, {}).value();
  Many many(*clock_, opened);
  ASSERT_TRUE(test::run(context_, Many::lose(&many, count)));

  policy::Route route;
  route.path = policy::pattern("/v1/*");
  config::ResolverConfig config;
  config.certain_after = 1ms;
  config.decide = config::ResolverDecides::apply;
  config.every = 100ms;
  const ResolverParts parts{.books = {.desk = *opened.desk,
                                      .audit = *opened.audit,
                                      .history = opened.history,
                                      .forget = [](const Key&) { return nobody(); },
                                      .now = [this] { return clock_->wall(); }},
                            .clock = *clock_,
                            .node = "host:1",
                            .say = [](const std::string&) {}};
  RouteResolver resolver(parts, config, route, make_sql_source(*clock_, question(usual), rules()));
  const auto began = std::chrono::steady_clock::now();
  const auto left = [&] { return count - resolver.counts().done - resolver.counts().not_done; };
  while (left() > 0 && std::chrono::steady_clock::now() - began < 5min) test::run(context_, Many::round(&resolver));
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
  std::cout << count << " keys in " << took.count() << " ms\n";
  EXPECT_EQ(resolver.counts().done, (count + 1) / 2);
  EXPECT_EQ(resolver.counts().not_done, count / 2);
  EXPECT_LE(took, 60s);
  opened = {};
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace semel::resolver
