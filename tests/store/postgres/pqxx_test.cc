// The adapter for libpqxx: the same promises through somebody else's client library.
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "store/postgres/own_connection.h"
#include <semel/once.h>
#include <semel/pqxx_transaction.h>
#include <semel/problem.h>

namespace semel::test {
namespace {

class PqxxTest : public OwnConnectionTest {
 protected:
  Answer call(PqxxAction action, Policy policy = {}) {
    return once_in_transaction(pqxx_, key(), print(), policy, std::move(action));
  }
  static PqxxAction inserting(std::string body) {
    return [body](pqxx::work& work, Fence) {
      work.exec_params("INSERT INTO effects VALUES ($1)", body);
      return Outcome::kept(created(body));
    };
  }

  pqxx::connection pqxx_{url_};
};

// Effect and answer commit together, a retry replays, and libpq sees the same record.
TEST_F(PqxxTest, CommitsTogetherAndReplays) {
  EXPECT_EQ(body_of(call(inserting("pay-1"))), "ran pay-1");
  EXPECT_EQ(body_of(call(inserting("pay-2"))), "replayed pay-1");
  EXPECT_EQ(body_of(once_in_transaction(connection_.get(), key(), print(), {}, paying(connection_, "pay-3"))),
            "replayed pay-1");
  EXPECT_EQ(effects(), "1");
}

// An exception of libpqxx rolls back, does not leave, and the connection can be used again.
TEST_F(PqxxTest, ExceptionRollsBack) {
  const auto broken = [](pqxx::work& work, Fence) -> Outcome {
    work.exec("INSERT INTO effects VALUES ('half')");
    work.exec("INSERT INTO no_such_table VALUES (1)");
    return Outcome::kept(created("never"));
  };
  EXPECT_EQ(std::get<Ran>(call(broken)).outcome.verdict, Verdict::release);
  EXPECT_EQ(effects() + records(), "00");
  EXPECT_EQ(body_of(call(inserting("pay-1"))), "ran pay-1");
}

// What says that it failed is rolled back, and its caller hears why.
TEST_F(PqxxTest, ReleaseRollsBack) {
  const auto busy = [](pqxx::work& work, Fence) {
    work.exec("INSERT INTO effects VALUES ('half')");
    return Outcome::released(created("busy"));
  };
  EXPECT_EQ(body_of(call(busy)), "ran busy");
  EXPECT_EQ(effects() + records(), "00");
}

// A commit that fails is refused, and leaves nothing.
TEST_F(PqxxTest, ReportsACommitThatFails) {
  connection_.run("CREATE TABLE late (id int UNIQUE DEFERRABLE INITIALLY DEFERRED)");
  const auto twice = [](pqxx::work& work, Fence) {
    work.exec("INSERT INTO late VALUES (1), (1)");
    return Outcome::kept(created("paid"));
  };
  EXPECT_EQ(refusal_of(call(twice)).problem.type, ProblemType::store_unavailable);
  EXPECT_EQ(records(), "0");
}

// Who comes second waits no longer than wait_max.
TEST_F(PqxxTest, DuplicateIsToldInFlightAfterWaitMax) {
  const auto slow = [&](pqxx::work&, Fence) {
    const Policy hasty{.wait_max = Millis{50}};
    const Answer answer = once_in_transaction(connection_.get(), key(), print(), hasty, paying(connection_, "second"));
    EXPECT_EQ(refusal_of(answer).problem.type, ProblemType::in_flight);
    return Outcome::kept(created("slow"));
  };
  EXPECT_EQ(body_of(call(slow)), "ran slow");
}

}  // namespace
}  // namespace semel::test
