// The histories of several databases.

#include "store/history.h"

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/postgres/admin.h"
#include "store/postgres/fixture.h"
#include "support/postgres_server.h"

namespace semel::test {
namespace {

class PostgresHistoryTest : public PostgresTest {
 protected:
  PostgresServer& server_ = PostgresServer::shared();

  static std::string database_of(const std::string& url) {
    return url.substr(url.find("test_"), url.find('?') - url.find("test_"));
  }
};

// The history is spread over the shards by subject, and read and pruned as one, whatever the order of the addresses.
TEST_F(PostgresHistoryTest, OfShardsIsOne) {
  const std::string one = server_.fresh_database();
  const std::string two = server_.fresh_database();
  ASSERT_TRUE(store::postgres::join_postgres_shards(*clock_, {one, two}));
  PostgresOptions options;
  options.urls = {one, two};
  auto first = store::postgres::open_with_keys(*clock_, options, {});
  options.urls = {two, one};
  auto second = store::postgres::open_with_keys(*clock_, options, {});
  ASSERT_TRUE(first && second);
  using store::HistoryKind;
  constexpr Millis day{86'400'000};
  std::vector<store::HistoryRow> rows;
  for (int i = 0; i < 60; ++i) {
    rows.push_back({.kind = HistoryKind::finding,
                    .subject = "s" + std::to_string(i % 20),
                    .at = Time{(20'000 + i / 20) * day},
                    .value = std::to_string(i)});
  }
  ASSERT_EQ(said(run(context_, first->history->append(rows))), "ok");
  for (const std::string& url : {one, two}) {
    EXPECT_GT(std::stoi(server_.run("SELECT count(*) FROM semel.history", database_of(url))), 0);
  }
  const store::HistorySpan always{.from = Time{}, .to = Time{30'000 * day}};
  for (const int subject : {0, 7, 19}) {
    const auto read =
        run(context_, second->history->read(HistoryKind::finding, "s" + std::to_string(subject), always, 9));
    ASSERT_TRUE(read);
    ASSERT_EQ(read->size(), 3U);
    for (int i = 0; i < 3; ++i) EXPECT_EQ((*read)[static_cast<std::size_t>(i)].value, std::to_string(subject + 20 * i));
  }
  ASSERT_EQ(said(run(context_, second->history->prune(HistoryKind::finding, Time{20'001 * day}))), "ok");
  std::set<std::string> seen;
  std::string cursor;
  do {
    const auto page = run(context_, first->history->scan(HistoryKind::finding, always, cursor, 7));
    ASSERT_TRUE(page);
    for (const store::HistoryRow& row : page->rows) EXPECT_TRUE(seen.insert(row.value).second);
    cursor = page->cursor;
  } while (!cursor.empty());
  EXPECT_EQ(seen.size(), 40U);
  EXPECT_FALSE(seen.contains("19"));
  EXPECT_EQ(said(run(context_, first->history->scan(HistoryKind::finding, always, "9/", 7))), "invalid");
  first->store.reset();
  second->store.reset();
}

}  // namespace
}  // namespace semel::test
