// What a step of the server's clock does. docs/guarantees.md says so, under "What Semel cannot promise".
//
// To move all times of the table back is the same as to set the clock forward: only their difference counts.

#include <string>
#include <variant>

#include <gtest/gtest.h>

#include "store/postgres/fixture.h"
#include "support/postgres_server.h"

namespace semel::test {
namespace {

class PostgresClock : public PostgresTest {
 protected:
  PostgresClock() { open(url_); }

  void set_forward(const std::string& interval) {
    server_.run("UPDATE semel.keys SET claimed_at = claimed_at - interval '" + interval +
                    "', lease_until = lease_until - interval '" + interval + "', expires_at = expires_at - interval '" +
                    interval + "'",
                url_.substr(url_.find("test_"), url_.find('?') - url_.find("test_")));
  }
  Terms terms(std::uint64_t owner, Terms::Lapsed lapsed) {
    Terms terms = terms_of(owner);
    terms.lease = Millis{60'000};
    terms.ttl = Millis{3'600'000};
    terms.lapsed = lapsed;
    return terms;
  }
  Result<Claim> claim_by(const Terms& terms) {
    return run(context_, store_->claim(key_of(1), fingerprint_of(1), terms));
  }

  PostgresServer& server_ = PostgresServer::shared();
  std::string url_ = server_.fresh_database();
};

// A step forward by less than what is left of the lease changes nothing, and a renewal makes the lease whole again.
TEST_F(PostgresClock, StepWithinTheLeaseEndsNoClaim) {
  const Fence fence = std::get<Granted>(*claim_by(terms(1, Terms::Lapsed::taken_over))).fence;
  for (int i = 0; i < 5; ++i) {
    set_forward("40 seconds");
    EXPECT_EQ(std::get<Held>(*claim_by(terms(2, Terms::Lapsed::taken_over))).record.state, Record::State::running);
    ASSERT_EQ(said(run(context_, store_->renew(key_of(1), fence, Millis{60'000}))), "ok");
  }
  EXPECT_EQ(said(complete(key_of(1), fence)), "ok");
}

// A step beyond it looks as if the holder had died: the outcome is unknown, and where a lapsed claim may be taken over,
// a second attempt starts although the first one runs. The first one ends nothing, and its answer is not replayed.
TEST_F(PostgresClock, StepBeyondTheLeaseIsTakenForADeadHolder) {
  const Fence fence = std::get<Granted>(*claim_by(terms(1, Terms::Lapsed::taken_over))).fence;
  set_forward("2 minutes");
  EXPECT_EQ(std::get<Held>(*claim_by(terms(2, Terms::Lapsed::stands))).record.state, Record::State::unknown);
  const Result<Claim> second = claim_by(terms(3, Terms::Lapsed::taken_over));
  ASSERT_TRUE(std::holds_alternative<Granted>(*second));
  EXPECT_EQ(std::get<Granted>(*second).fence.number, 2U);
  EXPECT_EQ(said(run(context_, store_->renew(key_of(1), fence, ample))), "fenced");
  EXPECT_EQ(said(complete(key_of(1), fence)), "fenced");
}

// A step back only makes leases and keys live longer.
TEST_F(PostgresClock, StepBackStartsNothing) {
  const Fence fence = std::get<Granted>(*claim_by(terms(1, Terms::Lapsed::taken_over))).fence;
  set_forward("-2 hours");
  EXPECT_EQ(std::get<Held>(*claim_by(terms(2, Terms::Lapsed::taken_over))).record.state, Record::State::running);
  EXPECT_EQ(said(complete(key_of(1), fence)), "ok");
  EXPECT_EQ(std::get<Held>(*claim_by(terms(3, Terms::Lapsed::taken_over))).record.state, Record::State::done);
}

}  // namespace
}  // namespace semel::test
