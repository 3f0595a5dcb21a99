// What looking for work costs on PostgreSQL does not grow with what stands in line, nor with what was removed while
// somebody holds an old snapshot: counted in pages that the server looks at, so that no clock is part of the answer.
#ifdef SEMEL_HAS_POSTGRES

#include <cstddef>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include <libpq-fe.h>

#include <gtest/gtest.h>

#include "inbox/inbox_database.h"

namespace semel::test {
namespace {

// The first argument of every function: the server that the caller believes to be talking to.
constexpr std::string_view believed = "semel.standing_2(), 1000";

class SharedCost : public testing::Test {
 protected:
  SharedCost() : database_(InboxDatabase::of(InboxServer::postgres, false)) { database_->clear(); }

  void run(const std::string& sql) const { database_->run(sql); }
  // How many pages a statement looks at.
  long pages(const std::string& sql) const {
    const std::string plan = database_->run(
        "SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true); "
        "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " +
        sql);
    constexpr std::string_view hits = "\"Shared Hit Blocks\": ";
    const std::size_t at = plan.find(hits);
    if (at == std::string::npos) throw std::runtime_error(plan);
    return std::stol(plan.substr(at + hits.size()));
  }
  // The beginnings of queues are moved every two seconds: as if those had passed.
  void let_begin_anew() const { run("UPDATE semel.inbox_begins SET moved = moved - 20000"); }

  std::shared_ptr<InboxDatabase> database_;
};

// A session that has looked once, and stays in its transaction.
class HeldSnapshot {
 public:
  explicit HeldSnapshot(const std::string& url) : link_(PQconnectdb(url.c_str())) {
    PGresult* const begun =
        PQexec(link_, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM semel.inbox_due");
    if (PQresultStatus(begun) != PGRES_TUPLES_OK) throw std::runtime_error(PQerrorMessage(link_));
    PQclear(begun);
  }
  ~HeldSnapshot() { PQfinish(link_); }
  HeldSnapshot(const HeldSnapshot&) = delete;
  HeldSnapshot& operator=(const HeldSnapshot&) = delete;

 private:
  PGconn* link_;
};

// Whether an event of an object runs, and which is the next, costs the same for five in line and for five thousand.
TEST_F(SharedCost, DoesNotGrowWithTheLineOfAnObject) {
  const auto line = [&](const std::string& object, int count) {
    run("INSERT INTO semel.inbox_lines (dest, object, sort, id, place, runs) SELECT 'd', '" + object +
        "', int8send(n), int8send(n), 0, false FROM generate_series(1, " + std::to_string(count) + ") n");
  };
  line("short", 5);
  line("long", 5'000);
  const auto wake = [&](const std::string& object) {
    return pages("SELECT semel.inbox_wake_3('d', '" + object + "', 0)");
  };
  wake("short");
  EXPECT_LT(wake("long"), wake("short") + 10);
}

// What was taken, dropped and counted since a snapshot was taken is still there, and nobody steps over it.
TEST_F(SharedCost, DoesNotGrowWithWhatWasRemovedUnderASnapshot) {
  run("INSERT INTO semel.inbox_holders (holder, alive_until, mark) VALUES (7, semel.inbox_now_3() + 1000000, '')");
  const std::string take =
      "SELECT * FROM semel.take_4(" + std::string(believed) + ", 7, 1, 'd', 10::bigint, 0::bigint, 0::bigint)";
  const std::string sweep = "SELECT semel.sweep_inbox_3(" + std::string(believed) + ", 100::bigint)";
  const std::string status = "SELECT * FROM semel.status_3(" + std::string(believed) + ")";
  std::map<std::string, long> empty;
  for (const std::string& call : {take, sweep, status}) empty[call] = pages(call);
  run("INSERT INTO semel.inbox_due (dest, urgency, at, id, place) "
      "SELECT 'd', 0, semel.inbox_now_3() - 100000 + n, int8send(n), 0 FROM generate_series(1, 20000) n");
  run("INSERT INTO semel.inbox_drops (at, id) "
      "SELECT semel.inbox_now_3() - 100000 + n, int8send(n) FROM generate_series(1, 20000) n");
  run("INSERT INTO semel.inbox_counts (source, dest) SELECT 's', 'd' FROM generate_series(1, 20000)");
  run("UPDATE semel.inbox_figures SET at = at - 100000");
  const HeldSnapshot held(database_->url());
  run("DELETE FROM semel.inbox_due; DELETE FROM semel.inbox_drops; DELETE FROM semel.inbox_counts");
  for (const auto& [call, before] : empty) {
    EXPECT_GT(pages(call), before + 300) << "where to begin has not been learnt yet: " << call;
  }
  let_begin_anew();
  pages(take);
  pages(sweep);
  for (const auto& [call, before] : empty) EXPECT_LT(pages(call), before + 100) << call;
}

}  // namespace
}  // namespace semel::test

#endif
