// Notes on PostgreSQL: what the contract cannot know.

#include "store/notes.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/capable_store.h"
#include "store/postgres/admin.h"
#include "store/postgres/fixture.h"
#include "support/postgres_server.h"
#include "support/run.h"

namespace semel::test {
namespace {

class PostgresNotesTest : public PostgresTest {
 protected:
  store::CapableStore open_all(const std::vector<std::string>& urls) {
    PostgresOptions options;
    options.urls = urls;
    Result<store::CapableStore> opened = store::postgres::open_with_keys(*clock_, options, {});
    if (!opened) throw std::runtime_error(opened.error().detail);
    return *std::move(opened);
  }
  Result<std::uint64_t> write(store::Notes* notes, const std::string& name, std::string value, std::uint64_t over) {
    store::NoteChange change{.name = name, .value = std::move(value), .over = over};
    return run(context_, notes->write(std::move(change)));
  }
  std::optional<store::StoredNote> read(store::Notes* notes, const std::string& name) {
    return run(context_, notes->read(name)).value();
  }
  PostgresServer& server_ = PostgresServer::shared();
};

// A write whose answer was lost is sent again with the same version: it was done once, and both are told so.
TEST_F(PostgresNotesTest, AWriteThatIsAskedForAgainIsDoneOnce) {
  const std::string url = server_.fresh_database();
  const std::string database = url.substr(url.find("test_"), url.find('?') - url.find("test_"));
  const auto ask = [&](int over, int fresh, const std::string& value) {
    return server_.run("SELECT verdict FROM semel.write_note_4(semel.standing_2(), 300, 'n', " + std::to_string(over) +
                           ", " + std::to_string(fresh) + ", '" + value + "')",
                       database);
  };
  EXPECT_EQ(ask(0, 7, "one"), "0");
  EXPECT_EQ(ask(0, 7, "one"), "0");
  EXPECT_EQ(ask(0, 8, "two"), "1");
  EXPECT_EQ(ask(7, 8, "two"), "0");
  EXPECT_EQ(ask(7, 8, "two"), "0");
  EXPECT_EQ(ask(7, 9, "three"), "1");
  EXPECT_EQ(server_.run("SELECT version || ' ' || convert_from(value, 'UTF8') FROM semel.notes", database), "8 two");
}

// Notes of several databases are one: those of before are found when a shard is added, and none is made twice.
TEST_F(PostgresNotesTest, AreFoundAfterAShardWasAdded) {
  const std::string one = server_.fresh_database();
  const std::string two = server_.fresh_database();
  std::uint64_t version = 0;
  {
    const store::CapableStore alone = open_all({one});
    version = write(alone.notes, "mark/old", "1", 0).value();
  }
  ASSERT_TRUE(store::postgres::join_postgres_shards(*clock_, {one, two}));
  for (const std::vector<std::string>& order : {std::vector{one, two}, std::vector{two, one}}) {
    const store::CapableStore both = open_all(order);
    ASSERT_EQ(read(both.notes, "mark/old")->version, version);
    EXPECT_EQ(said(write(both.notes, "mark/old", "other", 0)), "fenced");
    version = write(both.notes, "mark/old", "2", version).value();
    (void)write(both.notes, "mark/new", "made once", 0);
    const Result<store::NotePage> page = run(context_, both.notes->list("mark/", "", 1));
    ASSERT_TRUE(page);
    ASSERT_EQ(page->items.size(), 1U);
    EXPECT_EQ(page->items.front().name, "mark/new");
    EXPECT_EQ(page->items.front().value, "made once");
    const Result<store::NotePage> rest = run(context_, both.notes->list("mark/", page->cursor, 5));
    ASSERT_TRUE(rest);
    ASSERT_EQ(rest->items.size(), 1U);
    EXPECT_EQ(rest->items.front().name, "mark/old");
    EXPECT_EQ(rest->cursor, "");
  }
}

}  // namespace
}  // namespace semel::test
