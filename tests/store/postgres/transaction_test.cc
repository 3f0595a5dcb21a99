// One transaction with the caller's own writes: everything or nothing, and no unknown outcome.
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <variant>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "core/crypto.h"
#include "store/identity.h"
#include "store/postgres/admin.h"
#include "store/postgres/libpq.h"
#include "store/postgres/own_connection.h"
#include "support/run.h"
#include <semel/clock.h>
#include <semel/once.h>
#include <semel/postgres_transaction.h>
#include <semel/problem.h>
#include <semel/store.h>
#include <semel/stores.h>

namespace semel::test {
namespace {

class TransactionTest : public OwnConnectionTest {
 protected:
  Answer call(BlockingAction action, Policy policy = {}, std::uint8_t fingerprint = 1) {
    return once_in_transaction(connection_.get(), key(), print(fingerprint), policy, std::move(action));
  }

  // The store of a gateway on the same database.
  std::unique_ptr<Store> store() {
    auto opened = open_postgres_store(*clock_, {.urls = {url_}});
    if (!opened) throw std::runtime_error(opened.error().detail);
    return std::move(opened->store);
  }

  // The same, of one that has encryption keys.
  store::CapableStore sealed_gateway() {
    auto opened = store::postgres::open_with_keys(*clock_, {.urls = {url_}}, {core::AesKey{1}});
    if (!opened) throw std::runtime_error(opened.error().detail);
    return *std::move(opened);
  }

  std::unique_ptr<Clock> clock_ = make_system_clock();
  boost::asio::io_context context_{1};
};

// The effect and its answer commit together, and a retry replays without a second effect.
TEST_F(TransactionTest, CommitsEffectAndAnswerTogetherAndReplays) {
  EXPECT_EQ(body_of(call(paying(connection_, "pay-1"))), "ran pay-1");
  EXPECT_EQ(body_of(call(paying(connection_, "pay-2"))), "replayed pay-1");
  EXPECT_EQ(effects(), "1");
}

// What is said to have failed is rolled back, told to its caller, and leaves no trace: the retry is the first attempt.
TEST_F(TransactionTest, ReleaseRollsBackAndLeavesNoTrace) {
  const auto declined = [&](Fence) {
    connection_.run("INSERT INTO effects VALUES ('half')");
    return Outcome::released({.status = 503, .fields = {}, .body = "busy"});
  };
  EXPECT_EQ(body_of(call(declined)), "ran busy");
  EXPECT_EQ(effects(), "0");
  EXPECT_EQ(records(), "0");
  const Answer retry = call(paying(connection_, "pay-1"));
  EXPECT_EQ(std::get<Ran>(retry).fence.number, 1U);
}

// An exception rolls back and does not leave; nothing is unknown afterwards.
TEST_F(TransactionTest, ExceptionRollsBackAndIsNotUnknown) {
  const auto broken = [&](Fence) -> Outcome {
    connection_.run("INSERT INTO effects VALUES ('half')");
    throw std::runtime_error("broken");
  };
  const Answer answer = call(broken);
  EXPECT_EQ(std::get<Ran>(answer).outcome.verdict, Verdict::release);
  EXPECT_EQ(std::get<Ran>(answer).outcome.response->status, 500);
  EXPECT_EQ(effects() + records(), "00");
  EXPECT_EQ(body_of(call(paying(connection_, "pay-1"))), "ran pay-1");
}

// A failed statement that the action did not look at cannot be committed as if it had succeeded.
TEST_F(TransactionTest, RefusesToCommitAfterAStatementThatFailed) {
  const auto careless = [&](Fence) {
    PQclear(PQexec(connection_.get(), "INSERT INTO no_such_table VALUES (1)"));
    return Outcome::kept(created("paid"));
  };
  EXPECT_EQ(refusal_of(call(careless)).problem.type, ProblemType::store_unavailable);
  EXPECT_EQ(records(), "0");
  EXPECT_EQ(body_of(call(paying(connection_, "pay-1"))), "ran pay-1");
}

// A constraint that is checked at the end fails the commit, and nothing is left.
TEST_F(TransactionTest, ReportsACommitThatFails) {
  connection_.run("CREATE TABLE late (id int UNIQUE DEFERRABLE INITIALLY DEFERRED)");
  const auto twice = [&](Fence) {
    connection_.run("INSERT INTO late VALUES (1), (1)");
    return Outcome::kept(created("paid"));
  };
  EXPECT_EQ(refusal_of(call(twice)).problem.type, ProblemType::store_unavailable);
  EXPECT_EQ(records(), "0");
}

// A duplicate that comes while the first one runs waits for its commit, and replays it.
TEST_F(TransactionTest, DuplicateWaitsForTheCommitAndReplays) {
  std::promise<void> inside;
  std::promise<void> go_on;
  std::string first;
  std::jthread owner([&] {
    const DatabaseConnection own(url_);
    const auto slow = [&](Fence) {
      own.run("INSERT INTO effects VALUES ('slow')");
      inside.set_value();
      go_on.get_future().wait();
      return Outcome::kept(created("slow"));
    };
    first = body_of(once_in_transaction(own.get(), key(), print(), {}, slow));
  });
  inside.get_future().wait();
  std::jthread later([&] {
    while (DatabaseConnection(url_).run("SELECT count(*) FROM pg_locks WHERE NOT granted") == "0")
      std::this_thread::yield();
    go_on.set_value();
  });
  EXPECT_EQ(body_of(call(paying(connection_, "second"))), "replayed slow");
  owner.join();
  EXPECT_EQ(first, "ran slow");
  EXPECT_EQ(effects(), "1");
}

// A duplicate that waits for one that rolls back runs instead of it.
TEST_F(TransactionTest, DuplicateRunsWhenTheFirstRollsBack) {
  std::promise<void> inside;
  std::promise<void> go_on;
  std::jthread owner([&] {
    const DatabaseConnection own(url_);
    const auto failing = [&](Fence) {
      own.run("INSERT INTO effects VALUES ('failing')");
      inside.set_value();
      go_on.get_future().wait();
      return Outcome::released(created("no"));
    };
    (void)once_in_transaction(own.get(), key(), print(), {}, failing);
  });
  inside.get_future().wait();
  std::jthread later([&] {
    while (DatabaseConnection(url_).run("SELECT count(*) FROM pg_locks WHERE NOT granted") == "0")
      std::this_thread::yield();
    go_on.set_value();
  });
  EXPECT_EQ(body_of(call(paying(connection_, "second"))), "ran second");
  EXPECT_EQ(effects(), "1");
}

// The wait is bounded: after wait_max the duplicate is told in-flight, and its connection is free again.
TEST_F(TransactionTest, DuplicateIsToldInFlightAfterWaitMax) {
  const auto slow = [&](Fence) {
    const DatabaseConnection other(url_);
    const Policy hasty{.wait_max = Millis{50}};
    const Answer answer = once_in_transaction(other.get(), key(), print(), hasty, paying(other, "second"));
    EXPECT_EQ(refusal_of(answer).problem.type, ProblemType::in_flight);
    EXPECT_EQ(refusal_of(answer).problem.retry, Problem::Retry::same_key);
    EXPECT_EQ(other.run("SELECT 1"), "1");
    return Outcome::kept(created("slow"));
  };
  EXPECT_EQ(body_of(call(slow)), "ran slow");
  EXPECT_EQ(effects(), "0");
}

// Another request under the same key is refused, with or without a gateway.
TEST_F(TransactionTest, RefusesAnotherRequestUnderOneKey) {
  (void)call(paying(connection_, "pay-1"));
  EXPECT_EQ(refusal_of(call(paying(connection_, "pay-2"), {}, 2)).problem.type, ProblemType::key_reused);
  EXPECT_EQ(effects(), "1");
}

// A gateway on the same database sees the record, and its answer is the same.
TEST_F(TransactionTest, TheStoreOfAGatewaySeesTheSameRecord) {
  (void)call(paying(connection_, "pay-1"));
  const auto other = store();
  const Terms terms{.owner = 77};
  const Result<Claim> claim = run(context_, other->claim(key(), print(), terms));
  const Record& record = std::get<Held>(*claim).record;
  EXPECT_EQ(record.state, Record::State::done);
  EXPECT_EQ(*record.response, created("pay-1"));
}

// And the other way round: what a gateway completed is replayed here, what it left unknown is held or taken over.
TEST_F(TransactionTest, SeesWhatAGatewayDid) {
  const auto other = store();
  const Terms terms{.owner = 77};
  const Fence fence = std::get<Granted>(*run(context_, other->claim(key(), print(), terms))).fence;
  EXPECT_EQ(refusal_of(call(paying(connection_, "x"))).problem.type, ProblemType::in_flight);
  ASSERT_TRUE(run(context_, other->complete(key(), fence, nullptr)));
  EXPECT_EQ(refusal_of(call(paying(connection_, "x"))).problem.type, ProblemType::outcome_unknown);
  EXPECT_EQ(effects(), "0");
  const Answer taken = call(paying(connection_, "pay-1"), {.on_unknown = Policy::OnUnknown::retry});
  EXPECT_EQ(std::get<Ran>(taken).fence.number, 2U);
  EXPECT_EQ(effects(), "1");
}

// The caller's own settings are untouched: the claim waits by wait_max, the caller's writes by what the caller set.
TEST_F(TransactionTest, LeavesLockTimeoutAsItWas) {
  connection_.run("SET lock_timeout = '12345ms'");
  std::string inside;
  (void)call([&](Fence) {
    inside = connection_.run("SHOW lock_timeout");
    return Outcome::kept(created("x"));
  });
  EXPECT_EQ(inside, "12345ms");
  EXPECT_EQ(connection_.run("SHOW lock_timeout"), "12345ms");
}

// Under a stricter isolation a duplicate collides instead of seeing the other's row; it begins anew, and replays.
TEST_F(TransactionTest, WorksUnderSerializableIsolation) {
  connection_.run("SET default_transaction_isolation = 'serializable'");
  std::promise<void> inside;
  std::promise<void> go_on;
  std::jthread owner([&] {
    const DatabaseConnection own(url_);
    const auto slow = [&](Fence) {
      inside.set_value();
      go_on.get_future().wait();
      return Outcome::kept(created("slow"));
    };
    (void)once_in_transaction(own.get(), key(), print(), {}, slow);
  });
  inside.get_future().wait();
  std::jthread later([&] {
    while (DatabaseConnection(url_).run("SELECT count(*) FROM pg_locks WHERE NOT granted") == "0")
      std::this_thread::yield();
    go_on.set_value();
  });
  EXPECT_EQ(body_of(call(paying(connection_, "second"))), "replayed slow");
}

// A key whose time is up is free again.
TEST_F(TransactionTest, RunsAgainWhenTheKeyHasExpired) {
  const Policy brief{.ttl = Millis{30}};
  (void)call(paying(connection_, "pay-1"), brief);
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  EXPECT_EQ(body_of(call(paying(connection_, "pay-2"), brief)), "ran pay-2");
}

// A lost connection is told as such, and nothing of the transaction is left.
TEST_F(TransactionTest, LosingTheConnectionLeavesNothing) {
  const auto killed = [&](Fence) {
    connection_.run("INSERT INTO effects VALUES ('half')");
    DatabaseConnection(url_).run("SELECT pg_terminate_backend(" + std::to_string(PQbackendPID(connection_.get())) +
                                 ")");
    return Outcome::kept(created("paid"));
  };
  EXPECT_EQ(refusal_of(call(killed)).problem.type, ProblemType::store_unavailable);
  EXPECT_EQ(effects() + records(), "00");
  EXPECT_EQ(refusal_of(call(killed)).problem.retry, Problem::Retry::same_key);
}

// A connection that is in a transaction already is not ours to commit.
TEST_F(TransactionTest, RefusesAConnectionThatIsInATransaction) {
  connection_.run("BEGIN");
  const Answer answer = call(paying(connection_, "pay-1"));
  EXPECT_NE(refusal_of(answer).detail.find("transaction"), std::string::npos) << refusal_of(answer).detail;
  EXPECT_EQ(PQtransactionStatus(connection_.get()), PQTRANS_INTRANS);
}

// A ttl that makes no sense is refused in words.
TEST_F(TransactionTest, RefusesAPolicyThatMakesNoSense) {
  const Answer answer = call(paying(connection_, "x"), {.ttl = Millis{-1}});
  EXPECT_NE(refusal_of(answer).detail.find("ttl"), std::string::npos) << refusal_of(answer).detail;
}

// Without the schema the message says what to do.
TEST_F(TransactionTest, SaysThatTheSchemaIsMissing) {
  connection_.run("DROP SCHEMA semel CASCADE");
  const Answer answer = call(paying(connection_, "x"));
  EXPECT_NE(refusal_of(answer).detail.find("semel migrate"), std::string::npos) << refusal_of(answer).detail;
}

// Step by step, completing twice is an error of the program: the second one is fenced and changes nothing.
TEST_F(TransactionTest, CompletingTwiceIsFenced) {
  store::postgres::LibpqSession session(connection_.get());
  connection_.run("BEGIN");
  TransactionClaim claim(session, key(), print(), {});
  ASSERT_FALSE(claim.answer());
  EXPECT_TRUE(claim.complete(created("one")));
  EXPECT_EQ(claim.complete(created("two")).error().code, Code::fenced);
  connection_.run("COMMIT");
  EXPECT_EQ(body_of(call(paying(connection_, "three"))), "replayed one");
}

// Gateways with encryption keys give the keys of their database other names: the same key would run once here and once
// there, so nothing runs here.
TEST_F(TransactionTest, RefusesADatabaseWhoseKeysHaveOtherNames) {
  ASSERT_TRUE(sealed_gateway().identity);
  const Answer answer = call(paying(connection_, "pay-1"));
  EXPECT_EQ(refusal_of(answer).problem.type, ProblemType::store_unavailable);
  EXPECT_NE(refusal_of(answer).detail.find("take another database"), std::string::npos) << refusal_of(answer).detail;
  EXPECT_EQ(effects() + records(), "00");
}

// The first gateway waits for transactions that are under way, and leaves the names as they are, since there are keys.
TEST_F(TransactionTest, KeepsItsNamesAgainstAGatewayThatStartsMeanwhile) {
  store::postgres::LibpqSession session(connection_.get());
  connection_.run("BEGIN");
  TransactionClaim claim(session, key(), print(), {});
  ASSERT_FALSE(claim.answer());
  auto gateway = std::async(std::launch::async, [this] { return sealed_gateway().identity.has_value(); });
  EXPECT_EQ(gateway.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  EXPECT_TRUE(claim.complete(created("one")));
  connection_.run("COMMIT");
  EXPECT_FALSE(gateway.get());
  EXPECT_EQ(body_of(call(paying(connection_, "two"))), "replayed one");
}

// A transaction that sees the past only cannot be fooled by it: the gateway has given names since it began.
TEST_F(TransactionTest, NoticesNamesThatWereGivenSinceItBegan) {
  for (const std::string level : {"REPEATABLE READ", "SERIALIZABLE"}) {
    store::postgres::LibpqSession session(connection_.get());
    connection_.run("BEGIN ISOLATION LEVEL " + level);
    connection_.run("SELECT count(*) FROM effects");
    ASSERT_TRUE(sealed_gateway().identity);
    const TransactionClaim claim(session, key(), print(), {});
    EXPECT_TRUE(claim.answer()) << level;
    EXPECT_TRUE(claim.collided()) << level;
    connection_.run("ROLLBACK");
    connection_.run("UPDATE semel.identity SET settled_at = NULL, mark = NULL, wrapped = NULL");
  }
}

// Claiming one key twice in one transaction is in flight: it is one's own.
TEST_F(TransactionTest, ClaimingTwiceInOneTransactionIsInFlight) {
  store::postgres::LibpqSession session(connection_.get());
  connection_.run("BEGIN");
  const TransactionClaim first(session, key(), print(), {});
  const TransactionClaim second(session, key(), print(), {});
  ASSERT_TRUE(second.answer());
  EXPECT_EQ(refusal_of(*second.answer()).problem.type, ProblemType::in_flight);
  connection_.run("ROLLBACK");
}

}  // namespace
}  // namespace semel::test
