// [[resolver]]: what is refused, where, and why.
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "config/config.h"
#include "config/query_text.h"
#include "reading/issue.h"
#include "support/rules.h"
#include <semel/clock.h>

namespace semel::config {
namespace {

using Lines = std::vector<std::string>;

// Eight lines; the route has no scope, the upstream the default timeout of 30 s and the route the default lease of 30
// s.
std::string text_with(std::string_view resolver, std::string_view route = "scope = ''\n") {
  return "[upstream.app]\nurl = 'http://127.0.0.1:3000'\n[[route]]\npath = '/v1/payments'\nupstream = 'app'\n" +
         std::string(route) + "[[resolver]]\n" + std::string(resolver);
}

Lines errors(std::string_view resolver, std::string_view route = "scope = ''\n") {
  return test::issues(text_with(resolver, route), reading::Severity::error);
}

constexpr std::string_view usual =
    "route = '/v1/payments'\nask = 'sql'\ndatabase = 'env:TOKEN'\ncertain_after = '10m'\n";
constexpr std::string_view query = "query = 'SELECT key, status, body FROM answers WHERE key = ANY($1)'\n";

// The least that is needed, and what the rest is then.
TEST(ResolverConfiguration, HasDefaults) {
  const Config config = test::config(text_with(std::string(usual) + std::string(query)));
  ASSERT_EQ(config.resolvers.size(), 1U);
  const ResolverConfig& resolver = config.resolvers.front();
  EXPECT_EQ(resolver.route, 0U);
  EXPECT_EQ(resolver.ask, ResolverAsk::sql);
  EXPECT_EQ(resolver.decide, ResolverDecides::suggest);
  EXPECT_EQ(resolver.certain_after, Millis{600'000});
  EXPECT_EQ(resolver.every, Millis{30'000});
  EXPECT_TRUE(config.routes.front().resolved);
}

// A route that is not there, twice the same one, and routes whose keys are never in doubt.
TEST(ResolverConfiguration, NeedsARouteThatGuards) {
  const std::string sql = std::string(query) + "ask = 'sql'\ndatabase = 'env:TOKEN'\ncertain_after = '10m'\n";
  EXPECT_EQ(
      errors("route = '/v1/payment'\n" + sql),
      Lines{"f:8:9: error: there is no [[route]] with the path \"/v1/payment\" (did you mean \"/v1/payments\"?)"});
  EXPECT_EQ(
      errors(std::string(usual) + std::string(query) + "[[resolver]]\n" + std::string(usual) + std::string(query)),
      Lines{"f:14:9: error: \"/v1/payments\" has a resolver already"});
  EXPECT_EQ(errors(std::string(usual) + std::string(query), "scope = ''\nmode = 'observe'\n"),
            Lines{"f:9:9: error: the route only observes: nothing to resolve"});
  EXPECT_EQ(errors(std::string(usual) + std::string(query), "scope = ''\nkey = 'off'\n"),
            Lines{"f:9:9: error: the route has key = \"off\": nothing to resolve"});
}

// Absence proves nothing while the request may still run.
TEST(ResolverConfiguration, NeedsToWaitLongEnough) {
  const std::string rest = "route = '/v1/payments'\nask = 'sql'\ndatabase = 'env:TOKEN'\n" + std::string(query);
  EXPECT_EQ(errors(rest + "certain_after = '1m'\n"),
            Lines{"f:12:17: error: certain_after (1m) must be longer than the lease of the route (30s) and the timeout "
                  "of [upstream.app] (30s) together: before that, a request may still take effect"});
  EXPECT_EQ(errors(rest + "certain_after = '61s'\n"), Lines{});
  EXPECT_EQ(errors(rest), Lines{"f:7:1: error: resolver needs `certain_after`"});
  EXPECT_EQ(errors(rest + "certain_after = '10m'\nkept_for = '10m'\n"),
            Lines{"f:13:12: error: kept_for must be longer than certain_after"});
}

// What a query must have, with the place of what is wrong.
TEST(ResolverConfiguration, LooksAtTheQuery) {
  const auto error = [](std::string_view sql, std::string_view route = "scope = ''\n") {
    const Lines found = errors(std::string(usual) + "query = \"" + std::string(sql) + "\"\n", route);
    return found.size() == 1 ? found.front() : std::to_string(found.size()) + " errors";
  };
  EXPECT_EQ(error("SELECT key, status, body FROM a"),
            "f:12:10: error: query needs $1, the keys that are asked about: WHERE key = ANY($1)");
  EXPECT_EQ(error("SELECT key, body FROM a WHERE key = ANY($1)"),
            "f:12:10: error: query needs the columns key, status and body, and has no status: name it with AS status");
  EXPECT_EQ(error("DELETE FROM a WHERE key = ANY($1) RETURNING key, status, body"),
            "f:12:10: error: query must read: it begins with SELECT or WITH");
  EXPECT_EQ(error("WITH x AS (DELETE FROM a RETURNING *) SELECT key, status, body FROM x WHERE key = ANY($1)"),
            "f:12:21: error: query must only read, and it has the word delete");
  EXPECT_EQ(error("SELECT key, status, body FROM a WHERE key = ANY($1); SELECT 1"),
            "f:12:61: error: query must be one statement");
  EXPECT_NE(error("SELECT key, status, body FROM a WHERE key = ANY($1)", "scope = '{header:X-Account}'\n")
                .find("query needs the column scope"),
            std::string::npos);
  EXPECT_EQ(error(""), "f:12:10: error: query is empty");
}

// Comments and strings are not read as words; quoted names are.
TEST(ResolverConfiguration, ReadsAQueryAsWords) {
  EXPECT_FALSE(fault_of_query("SELECT k AS \"key\", status, body -- delete\nFROM a WHERE k = ANY($1);", false));
  EXPECT_TRUE(fault_of_query("SELECT key, status, body FROM a WHERE note = '$1'", false));
  EXPECT_TRUE(query_has_word("SELECT a AS Content_Type", "content_type"));
  EXPECT_FALSE(query_has_word("SELECT 'content_type'", "content_type"));
}

// A key or a scope of several parts is a hash that no table has; a probe has its target.
TEST(ResolverConfiguration, NeedsATextThatATableCanHold) {
  const std::string sql = std::string(usual) + std::string(query);
  const Lines keys = errors(sql, "scope = ''\nkey_from = '{header:A}{header:B}'\n");
  ASSERT_EQ(keys.size(), 1U);
  EXPECT_NE(keys.front().find("key_from of the route has several parts"), std::string::npos);
  const std::string scoped =
      std::string(usual) + "query = 'SELECT key, scope, status, body FROM a WHERE key=ANY($1)'\n";
  const Lines scopes = errors(scoped, "scope = '{header:A}{header:B}'\n");
  ASSERT_EQ(scopes.size(), 1U);
  EXPECT_NE(scopes.front().find("scope of the route has several parts"), std::string::npos);
}

// Each way of asking needs its own options.
TEST(ResolverConfiguration, NeedsWhatItAsksWith) {
  const std::string bare = "route = '/v1/payments'\ncertain_after = '10m'\n";
  EXPECT_EQ(errors(bare + "ask = 'sql'\n").size(), 2U);
  EXPECT_EQ(errors(bare + "ask = 'probe'\n"),
            Lines{"f:10:7: error: ask = \"probe\" needs `probe` in the route, the target to ask"});
  EXPECT_EQ(errors(bare + "ask = 'probe'\n", "scope = ''\nprobe = '/v1/payments?key={key}'\n"), Lines{});
  EXPECT_EQ(errors(bare + "ask = 'guess'\n").size(), 1U);
}

// A probe that a resolver asks by has an effect; one beside a resolver that asks a database has none.
TEST(ResolverConfiguration, GivesAProbeItsUse) {
  const auto warnings = [](std::string_view resolver) {
    const std::string route = "scope = '{header:Authorization}'\nprobe = '/v1/payments?key={key}'\n";
    return test::issues(text_with(resolver, route), reading::Severity::warning);
  };
  EXPECT_EQ(warnings("route = '/v1/payments'\ncertain_after = '10m'\nask = 'probe'\n"), Lines{});
  const std::string scoped = "query = 'SELECT key, scope, status, body FROM a WHERE key = ANY($1)'\n";
  const Lines by_query = warnings(std::string(usual) + scoped);
  EXPECT_EQ(by_query, Lines{"f:7:9: warning: probe is used by semel keys resolve --from-probe alone, unless on_unknown "
                            "= \"probe\" or a [[resolver]] asks by it"});
}

}  // namespace
}  // namespace semel::config
