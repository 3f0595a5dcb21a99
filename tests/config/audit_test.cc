// [[audit]]: what is read, and what is refused with line and column.
#include "config/audit.h"

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "config/audit_query.h"
#include "config/config.h"
#include "reading/issue.h"
#include "support/rules.h"
#include <semel/clock.h>

namespace semel::config {
namespace {

constexpr std::string_view head = "[[audit]]\nname = 'payments'\ndatabase = 'postgres://reader@127.0.0.1/app'\n";
constexpr std::string_view sound =
    "query = 'SELECT k AS key, s AS scope, id AS effect, made AS at, v AS value FROM t WHERE made >= $1 AND made < "
    "$2'\n";

std::string text_with(std::string_view lines) {
  return std::string(test::least) + std::string(head) + std::string(lines);
}
std::vector<std::string> errors(std::string_view lines) {
  return test::issues(text_with(lines), reading::Severity::error);
}
std::vector<std::string> warnings(std::string_view lines) {
  return test::issues(text_with(lines), reading::Severity::warning);
}

// What is left out has its default.
TEST(AuditConfiguration, HasDefaults) {
  const Config config = test::config(text_with(sound));
  ASSERT_EQ(config.audits.size(), 1U);
  const AuditConfig& audit = config.audits.front();
  EXPECT_EQ(audit.name, "payments");
  EXPECT_EQ(audit.space, "default");
  EXPECT_EQ(audit.every, Millis{60'000});
  EXPECT_EQ(audit.settle, Millis{120'000});
  EXPECT_EQ(audit.overlap, Millis{3'600'000});
  EXPECT_EQ(audit.expect, AuditExpect::one);
  EXPECT_EQ(audit.page_to, "");
  EXPECT_EQ(audit.query_at.at.line, 11U);
}

// The semicolon at the end of a statement is no part of the query.
TEST(AuditConfiguration, TakesTheQueryWithoutItsSemicolon) {
  std::string lines(sound);
  lines.replace(lines.rfind('\''), 1, " ; '");
  EXPECT_TRUE(test::config(text_with(lines)).audits.front().query.ends_with("< $2"));
}

// Each is refused where it stands.
TEST(AuditConfiguration, RefusesWhatCannotBe) {
  EXPECT_EQ(errors(std::string(sound) + "page = { to = 'pager' }\n"),
            std::vector<std::string>{"f:12:15: error: there is no [destination.pager]"});
  EXPECT_EQ(errors(std::string(sound) + std::string(head) + std::string(sound)),
            std::vector<std::string>{"f:13:8: error: there is another [[audit]] with the name payments"});
  EXPECT_EQ(errors(std::string(sound) + "expect = 'two'\n").size(), 1U);
  EXPECT_EQ(errors("").size(), 1U) << "no query";
  const std::string elsewhere = std::string(test::least) + "[[audit]]\nname = 'a b'\ndatabase = 'mysql://x'\n";
  EXPECT_EQ(test::issues(elsewhere + std::string(sound), reading::Severity::error).size(), 2U);
}

// A query is refused by its text where that is enough.
TEST(AuditConfiguration, RefusesAQueryThatCannotBeOne) {
  const auto refused = [](std::string_view query) {
    return errors("query = \"\"\"" + std::string(query) + "\"\"\"\n");
  };
  const std::string window = " FROM t WHERE at >= $1 AND at < $2";
  const std::string columns = "key, scope, effect, at, value";
  EXPECT_EQ(refused("SELECT " + columns + window), std::vector<std::string>{});
  EXPECT_EQ(refused("SELECT *" + window), std::vector<std::string>{});
  EXPECT_EQ(refused("SELECT \\\"key\\\", scope, effect, at, \\\"value\\\"" + window), std::vector<std::string>{});
  EXPECT_EQ(refused("WITH w AS (SELECT 1) SELECT " + columns + window), std::vector<std::string>{});
  const std::vector<std::pair<std::string, std::string_view>> table{
      {"SELECT key, scope, effect, at" + window, "no column value"},
      {"SELECT " + columns + " FROM t WHERE at >= $1", "needs its window"},
      {"SELECT " + columns + " FROM t", "needs its window"},
      {"SELECT " + columns + " FROM t WHERE at >= $1 AND at < $2 AND x = $3", "$1 and $2 and no others"},
      {"DELETE FROM t WHERE at >= $1 AND at < $2", "must begin with SELECT"},
      {"WITH d AS (DELETE FROM t RETURNING *) SELECT " + columns + " FROM d WHERE at >= $1 AND at < $2",
       "must only read"},
      {"SELECT " + columns + " INTO u" + window, "must only read"},
      {"SELECT " + columns + window + " FOR UPDATE", "must only read"},
      {"SELECT " + columns + window + "; DROP TABLE t", "one statement"},
      {"SELECT " + columns + window + " AND x = 'open", "does not end"},
      {"", "must begin with SELECT"},
  };
  for (const auto& [query, words] : table) {
    const std::vector<std::string> said = refused(query);
    ASSERT_EQ(said.size(), 1U) << query;
    EXPECT_TRUE(said.front().starts_with("f:11:9: error: ")) << said.front();
    EXPECT_NE(said.front().find(words), std::string::npos) << said.front();
  }
}

// Words in strings, comments and quoted names are not those of the statement, and neither are parameters in them.
TEST(AuditConfiguration, SkipsWhatIsNotTheStatement) {
  EXPECT_EQ(
      words_of("SELECT 'delete $3', \"update\", $$ drop $4 $$, $x$ insert $x$, E'it\\'s $5' -- merge $6\n /* copy /* "
               "nested */ $7 */ $1")
          .parameters,
      std::set<unsigned>{1});
  const QueryWords found = words_of("select a, 'it''s', b from c where d = $2");
  EXPECT_EQ(found.first, "select");
  EXPECT_EQ(found.words, (std::set<std::string>{"select", "a", "b", "from", "c", "where", "d"}));
  EXPECT_TRUE(words_of("SELECT 'open").broken);
  EXPECT_TRUE(words_of("SELECT /* open").broken);
  EXPECT_FALSE(words_of("SELECT 1;  ").ends);
  EXPECT_TRUE(words_of("SELECT 1; SELECT").ends);
}

// Keys that are forgotten before their effects have been looked at would make orphans.
TEST(AuditConfiguration, WarnsOfKeysThatAreForgottenTooEarly) {
  EXPECT_EQ(warnings(sound), std::vector<std::string>{});
  const std::vector<std::string> said = warnings(std::string(sound) + "overlap = '24h'\n");
  ASSERT_EQ(said.size(), 1U);
  EXPECT_TRUE(said.front().starts_with("f:12:11: warning: keys of the namespace default are forgotten after 1d"))
      << said.front();
  EXPECT_EQ(warnings(std::string(sound) + "overlap = '24h'\nnamespace = 'other'\n"), std::vector<std::string>{});
}

}  // namespace
}  // namespace semel::config
