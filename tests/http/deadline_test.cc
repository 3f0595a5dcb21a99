// What a transaction's deadline ends, and when, by a clock that the test turns.
#include "http/deadline.h"

#include <cstdint>
#include <optional>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "http/ticker.h"
#include "support/virtual_clock.h"
#include <semel/clock.h>

namespace semel::http {
namespace {

constexpr Millis patience{10'000};

class DeadlineTest : public testing::Test {
 protected:
  DeadlineTest() { ticker_.start(); }

  // In steps of a tick, as time passes.
  void pass(Millis time) {
    for (; time > Millis{0}; time -= Ticker::period) {
      clock_.advance(Ticker::period);
      context_.restart();
      context_.poll();
    }
  }

  Deadline with_rate(std::uint64_t rate_min) {
    return {ticker_, patience, rate_min, [this](Lateness then) { ended_ = then; }};
  }

  boost::asio::io_context context_;
  test::VirtualClock clock_;
  Ticker ticker_{clock_, context_.get_executor()};
  std::optional<Lateness> ended_;
  Deadline deadline_ = with_rate(0);
};

// A client that sends half a body gets a reply that says so.
TEST_F(DeadlineTest, InterruptsABodyThatIsLate) {
  deadline_.await_whole_body();
  EXPECT_TRUE(deadline_.awaits_whole_body());
  pass(patience);
  EXPECT_FALSE(ended_);
  EXPECT_FALSE(deadline_.late());
  pass(Ticker::period);
  EXPECT_EQ(ended_, Lateness::interrupt);
  EXPECT_TRUE(deadline_.late());
}

// Nobody is late any more once the body is there.
TEST_F(DeadlineTest, EndsWithTheBody) {
  deadline_.await_whole_body();
  deadline_.whole_body_came();
  EXPECT_FALSE(deadline_.awaits_whole_body());
  deadline_.await_piece();
  deadline_.piece_came(1);
  pass(10 * patience);
  EXPECT_FALSE(ended_);
}

// With a reply under way there is no other way to tell the client than to close.
TEST_F(DeadlineTest, ClosesOnALateBodyOnceTheReplyHasBegun) {
  deadline_.await_piece();
  deadline_.send_piece(100);
  deadline_.piece_taken();
  pass(patience + Ticker::period);
  EXPECT_EQ(ended_, Lateness::close);
}

TEST_F(DeadlineTest, InterruptsALatePieceBeforeAReply) {
  deadline_.await_piece();
  pass(patience + Ticker::period);
  EXPECT_EQ(ended_, Lateness::interrupt);
}

TEST_F(DeadlineTest, ClosesOnAClientThatDoesNotTakeTheReply) {
  deadline_.send_whole_reply();
  pass(patience);
  EXPECT_FALSE(ended_);
  pass(Ticker::period);
  EXPECT_EQ(ended_, Lateness::close);
}

// The client is not to blame for an upstream that takes its time between two pieces.
TEST_F(DeadlineTest, WaitsForTheNextPieceOfAReplyWithoutEnd) {
  deadline_.send_piece(100);
  deadline_.piece_taken();
  pass(10 * patience);
  EXPECT_FALSE(ended_);
  deadline_.send_piece(100);
  pass(patience + Ticker::period);
  EXPECT_EQ(ended_, Lateness::close);
}

// Both ways at once: the body's time counts first; when its piece has come, the reply's.
TEST_F(DeadlineTest, GoesFromTheBodyToTheReplyThatIsStillUnderWay) {
  deadline_.await_piece();
  deadline_.send_piece(100);
  pass(patience / 2);
  deadline_.piece_came(100);
  pass(patience);
  EXPECT_FALSE(ended_);
  pass(Ticker::period);
  EXPECT_EQ(ended_, Lateness::close);
}

// Each wait uses up what the client has saved up, so a byte now and then does not keep a connection for ever.
TEST_F(DeadlineTest, HoldsBothWaysToTheirRate) {
  Deadline slow = with_rate(1'000);
  slow.await_piece();
  pass(Millis{8'000});
  slow.piece_came(1);  // two seconds are left
  slow.await_piece();
  pass(Millis{2'000});
  EXPECT_FALSE(ended_);
  pass(2 * Ticker::period);
  EXPECT_EQ(ended_, Lateness::interrupt);

  ended_.reset();
  Deadline taking = with_rate(1'000);
  taking.send_piece(1);
  pass(Millis{8'000});
  taking.piece_taken();
  taking.send_piece(1);
  pass(Millis{2'000});
  EXPECT_FALSE(ended_);
  pass(2 * Ticker::period);
  EXPECT_EQ(ended_, Lateness::close);
}

TEST_F(DeadlineTest, RingsOnceAndEndsNothing) {
  int rung = 0;
  deadline_.alarm(Millis{1'000}, [&] { ++rung; });
  pass(Millis{1'000});
  EXPECT_EQ(rung, 0);
  pass(10 * patience);
  EXPECT_EQ(rung, 1);
  EXPECT_FALSE(ended_);
}

TEST_F(DeadlineTest, DoesNotRingWhenSilenced) {
  int rung = 0;
  deadline_.alarm(Millis{1'000}, [&] { ++rung; });
  deadline_.silence();
  pass(10 * patience);
  EXPECT_EQ(rung, 0);
  EXPECT_FALSE(ended_);
}

// A reply has the deadline for itself: what rings for the store must not ring for the client.
TEST_F(DeadlineTest, AReplyTakesTheAlarmBack) {
  int rung = 0;
  deadline_.alarm(Millis{1'000}, [&] { ++rung; });
  deadline_.send_whole_reply();
  pass(patience + Ticker::period);
  EXPECT_EQ(rung, 0);
  EXPECT_EQ(ended_, Lateness::close);
}

// Transactions of one thread are late each for itself.
TEST_F(DeadlineTest, IsNotSharedWithAnother) {
  Deadline other = with_rate(0);
  deadline_.await_whole_body();
  pass(patience + Ticker::period);
  EXPECT_TRUE(deadline_.late());
  EXPECT_FALSE(other.late());
}

// One that is destroyed is nobody's concern.
TEST_F(DeadlineTest, ForgetsOneThatIsGone) {
  {
    Deadline gone = with_rate(0);
    gone.send_whole_reply();
  }
  pass(10 * patience);
  EXPECT_FALSE(ended_);
}

}  // namespace
}  // namespace semel::http
