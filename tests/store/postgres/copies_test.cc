// Older copies of a database: no gateway that has seen what they lack grants a key there, whoever else has believed
// them.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include "store/capable_store.h"
#include "store/desk.h"
#include "store/postgres/admin.h"
#include "store/postgres/fixture.h"
#include "support/pgbouncer.h"
#include "support/postgres_server.h"
#include <semel/stores.h>

namespace semel::test {
namespace {

class PostgresCopies : public PostgresTest {
 protected:
  ~PostgresCopies() override { std::filesystem::remove_all(notes_); }

  [[nodiscard]] std::uint64_t pulse() const {
    return std::stoull(server_.run("SELECT number FROM semel.pulse", name_));
  }
  // Writes until the pulse is beyond that.
  void write_beyond(Store& store, std::uint64_t number) {
    const bool raised = soon([&] {
      EXPECT_TRUE(claims(store, key_of(++last_)));
      std::this_thread::sleep_for(Millis{100});
      return pulse() > number;
    });
    ASSERT_TRUE(raised);
  }
  bool claims(Store& store, const Key& key) {
    const Result<Claim> claimed = run(context_, store.claim(key, fingerprint_of(1), terms_of(++last_)));
    if (!claimed) why_ = claimed.error().detail;
    return claimed && std::holds_alternative<Granted>(*claimed);
  }
  // Soon says that it is a copy, and until then and for a while after grants nothing.
  void expect_refused(Store& store, const Key& key) {
    const auto granted = [&] { return claims(store, key); };
    bool run_again = false;
    const auto told = [&] {
      run_again = run_again || granted();
      return why_.find("an older copy") != std::string::npos;
    };
    EXPECT_TRUE(soon(told)) << why_;
    for (int i = 0; i < 20; ++i) {
      std::this_thread::sleep_for(Millis{100});
      run_again = run_again || granted();
    }
    EXPECT_FALSE(run_again) << "the key had been claimed, but not in this copy";
  }
  std::unique_ptr<Store> opened(const std::string& url, const std::filesystem::path& notes = {}) {
    PostgresOptions options;
    options.urls = {url};
    options.state_folder = notes;
    Result<OpenedStore> store = open_postgres_store(*clock_, options);
    if (!store) why_ = store.error().detail;
    return store ? std::move(store->store) : nullptr;
  }

  // With what operators use.
  store::CapableStore opened_with_desk(const std::string& url) {
    PostgresOptions options;
    options.urls = {url};
    options.state_folder = notes_;
    auto store = store::postgres::open_with_keys(*clock_, options, {});
    if (!store) throw std::runtime_error(store.error().detail);
    return *std::move(store);
  }
  Result<store::KeyList> asked_at_the_desk(const store::CapableStore& store) {
    return run(context_, store.desk->list({}, ""));
  }
  [[nodiscard]] std::string url_of_both(const PostgresServer& other) const {
    return "postgres:///" + name_ + "?host=" + server_.folder().string() + "," + other.folder().string() +
           "&user=postgres";
  }
  // As after a failover to it.
  static void promote(PostgresServer& server) {
    std::ofstream(server.folder() / "data" / "standby.signal").close();
    server.start();
    server.run("SELECT pg_promote()");
  }

  void copy() {
    server_.crash();
    run_unprivileged({"cp", "-a", data_.string(), copy_.string()}, "/dev/null");
    server_.start();
  }
  void take_up_the_copy() {
    server_.crash();
    std::filesystem::rename(data_, server_.folder() / "original");
    std::filesystem::rename(copy_, data_);
    server_.start();
  }
  [[nodiscard]] std::string program(const std::string& name) const { return "/usr/lib/postgresql/15/bin/" + name; }

  PostgresServer server_;
  const std::string url_ = server_.fresh_database();
  const std::string name_ = "test_1";
  const std::filesystem::path data_ = server_.folder() / "data";
  const std::filesystem::path copy_ = server_.folder() / "copy";
  const std::filesystem::path notes_ =
      std::filesystem::path(testing::TempDir()) / ("semel-copies-" + std::to_string(getpid()));
  std::uint64_t last_ = 100;
  std::string why_;  // it was refused last
};

// A dump is put in the place of the tables, by a server that runs on, in the same database, in one transaction.
TEST_F(PostgresCopies, DumpThatIsRestoredInPlace) {
  const PgBouncer bouncer(server_);
  const std::string dump = (server_.folder() / "dump.sql").string();
  for (const bool pooled : {true, false}) {
    SCOPED_TRACE(pooled ? "behind a pooler" : "directly");
    const std::unique_ptr<Store> store = opened(pooled ? bouncer.url(name_) : url_);
    ASSERT_NE(store, nullptr) << why_;
    write_beyond(*store, pulse());
    run_unprivileged({program("pg_dump"), "--file", dump, url_}, "/dev/null");
    const Key key = key_of(pooled ? 1 : 2);
    ASSERT_TRUE(claims(*store, key)) << why_;
    write_beyond(*store, pulse() + 1);
    run_unprivileged(
        {program("psql"), "-qX1", url_, "-v", "ON_ERROR_STOP=1", "-c", "DROP SCHEMA semel CASCADE", "-f", dump},
        "/dev/null");
    expect_refused(*store, key);
  }
}

// Two gateways, one of which has written nothing since the copy was made. Then somebody who was started on the copy
// writes there, until its pulse is beyond all that the others have seen.
TEST_F(PostgresCopies, GatewaysThatWereIdleAndCopiesThatAreWrittenTo) {
  const std::unique_ptr<Store> idle = opened(url_);
  const std::unique_ptr<Store> busy = opened(url_);
  ASSERT_TRUE(idle != nullptr && busy != nullptr) << why_;
  write_beyond(*idle, pulse());
  std::this_thread::sleep_for(Millis{2'500});  // by now it has told of what it wrote
  copy();
  ASSERT_TRUE(soon([&] { return claims(*busy, key_of(1)); })) << why_;
  write_beyond(*busy, pulse() + 1);
  const std::uint64_t before = pulse();
  std::this_thread::sleep_for(Millis{2'500});  // the idle one looks once a second
  take_up_the_copy();
  expect_refused(*busy, key_of(1));
  expect_refused(*idle, key_of(1));
  const std::unique_ptr<Store> believes = opened(url_);
  ASSERT_NE(believes, nullptr) << why_;
  write_beyond(*believes, before + 2);
  expect_refused(*busy, key_of(1));
  expect_refused(*idle, key_of(1));
}

// The original is believed as often as it is started, by those that stay and by those that come.
TEST_F(PostgresCopies, OriginalThatIsStartedAgainAndAgain) {
  const std::unique_ptr<Store> store = opened(url_, notes_);
  ASSERT_NE(store, nullptr) << why_;
  for (std::uint64_t life = 1; life <= 4; ++life) {
    ASSERT_TRUE(soon([&] { return claims(*store, key_of(life)); })) << why_;
    write_beyond(*store, pulse());
    server_.crash();
    server_.start();
  }
  EXPECT_EQ(server_.run("SELECT count(*) FROM semel.reigns", name_), "4");
  EXPECT_TRUE(soon([&] { return claims(*store, key_of(9)); })) << why_;
  EXPECT_NE(opened(url_, notes_), nullptr) << why_;
}

// A gateway that was stopped in good order knows when it is started how far the database was.
TEST_F(PostgresCopies, GatewayThatIsStartedAgain) {
  std::unique_ptr<Store> store = opened(url_, notes_);
  ASSERT_NE(store, nullptr) << why_;
  write_beyond(*store, pulse());  // there is a note now, and another one only ten seconds later
  copy();
  ASSERT_TRUE(soon([&] { return claims(*store, key_of(1)); })) << why_;
  write_beyond(*store, pulse() + 1);
  store.reset();
  const std::uint64_t reached = pulse();
  take_up_the_copy();
  EXPECT_EQ(opened(url_, notes_), nullptr);
  EXPECT_NE(why_.find("an older copy"), std::string::npos) << why_;
  std::unique_ptr<Store> believes = opened(url_);
  ASSERT_NE(believes, nullptr) << why_;
  write_beyond(*believes, reached + 1);
  EXPECT_EQ(opened(url_, notes_), nullptr) << "also after somebody else has written there";
}

// A dump is restored in a cluster that has had a failover, so that its timeline is the higher one. It is not taken for
// a new primary: not by what operators use in a gateway that runs, and not by a gateway that is started.
TEST_F(PostgresCopies, DumpInAClusterWithAHigherTimeline) {
  PostgresServer other;
  other.crash();
  promote(other);
  const std::string dump = (server_.folder() / "dump.sql").string();
  store::CapableStore store = opened_with_desk(url_of_both(other));
  write_beyond(*store.store, pulse());
  run_unprivileged({program("pg_dump"), "--file", dump, url_}, "/dev/null");
  ASSERT_TRUE(claims(*store.store, key_of(1))) << why_;
  write_beyond(*store.store, pulse() + 1);
  other.run("CREATE DATABASE " + name_);
  run_unprivileged({program("psql"), "-qX1", other.url(name_), "-v", "ON_ERROR_STOP=1", "-f", dump}, "/dev/null");

  const Result<store::KeyList> asked = asked_at_the_desk(store);
  ASSERT_FALSE(asked) << "the first connection for operators is made to the highest timeline";
  EXPECT_NE(asked.error().detail.find("a copy of the database"), std::string::npos) << asked.error().detail;
  server_.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'semel'");
  EXPECT_TRUE(soon([&] { return claims(*store.store, key_of(2)); })) << "the original is no former primary: " << why_;
  store.store.reset();
  EXPECT_EQ(opened(other.url(name_), notes_), nullptr);
  EXPECT_NE(why_.find("remove the note"), std::string::npos) << why_;
  EXPECT_NE(opened(url_, notes_), nullptr) << why_;
}

// Another server is promoted while the first one lives on, and its connections are well. As soon as the gateway has
// seen the new one, by whatever connection, it claims nothing more at the old one.
TEST_F(PostgresCopies, FormerPrimaryThatLivesOnIsLeft) {
  PostgresServer later;
  later.crash();
  const std::filesystem::path data = later.folder() / "data";
  std::filesystem::remove_all(data);
  ASSERT_NE(opened(url_), nullptr) << "settles the identity: " << why_;
  server_.crash();
  run_unprivileged({"cp", "-a", data_.string(), data.string()}, "/dev/null");
  std::ofstream(data / "postgresql.conf", std::ios::app)
      << "unix_socket_directories = '" << later.folder().string() << "'\n";
  server_.start();
  const store::CapableStore store = opened_with_desk(url_of_both(later));
  write_beyond(*store.store, pulse());
  promote(later);
  ASSERT_TRUE(claims(*store.store, key_of(1))) << "nobody has seen the new one yet: " << why_;

  const Result<store::KeyList> asked = asked_at_the_desk(store);
  ASSERT_TRUE(asked) << asked.error().detail;
  const std::string here = server_.run("SELECT count(*) FROM semel.keys", name_);
  for (std::uint64_t i = 2; i < 30; ++i) {
    EXPECT_TRUE(soon([&] { return claims(*store.store, key_of(i)); })) << why_;
  }
  EXPECT_EQ(server_.run("SELECT count(*) FROM semel.keys", name_), here) << "claimed at the former primary";
  EXPECT_EQ(later.run("SELECT count(*) FROM semel.keys", name_), "28");
  EXPECT_TRUE(soon([&] { return later.run("SELECT number > 0 FROM semel.pulse", name_) == "t"; }));
}

// Another gateway with the same folder has seen more than the server has that this one is connected to.
TEST_F(PostgresCopies, GatewayThatHearsOfMoreByItsNote) {
  const std::unique_ptr<Store> store = opened(url_, notes_);
  ASSERT_NE(store, nullptr) << why_;
  write_beyond(*store, pulse());
  for (const auto& each : std::filesystem::directory_iterator(notes_)) {
    if (each.path().extension() != ".timeline") continue;
    std::stringstream note;
    note << std::ifstream(each.path()).rdbuf();
    std::ofstream(each.path()) << std::regex_replace(note.str(), std::regex("pulse [0-9]+"), "pulse 1000");
  }
  const auto refused = [&] { return !claims(*store, key_of(++last_)) && why_.find("older copy") != std::string::npos; };
  EXPECT_TRUE(soon(refused) || soon(refused)) << "the note is read every ten seconds";
}

}  // namespace
}  // namespace semel::test
