// One request over a real socket, without a network: one end of a pair is the connection's, the other one the client's.
#include "http/http1_transaction.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <gtest/gtest.h>

#include "http/connection.h"
#include "http/failure.h"
#include "http/head.h"
#include "http/parser.h"
#include "http/ticker.h"
#include "http/transaction.h"
#include "http/writer.h"
#include "support/run.h"
#include "support/virtual_clock.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::http {
namespace {

constexpr Millis patience{10'000};
constexpr std::string_view post = "POST /v1/charges HTTP/1.1\r\nHost: a.example\r\n";

constexpr auto no_fields = [](HeadWriter& /*head*/) {};

class Http1TransactionTest : public testing::Test {
 protected:
  Http1TransactionTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    client_ = ends[0];
    Socket socket(context_.get_executor());
    socket.assign(boost::asio::ip::tcp::v4(), ends[1]);
    connection_ = std::make_unique<Connection>(std::move(socket), ticker_);
    ticker_.start();
  }
  ~Http1TransactionTest() override {
    transaction_.reset();
    hang_up();
  }

  // The client sends this, head and all; what follows the head is unread.
  Http1Transaction& ask(std::string_view request) {
    say(request);
    EXPECT_TRUE(test::run(context_, connection_->fill()));
    parser_.emplace(head_, ParserLimits{});
    const Try<std::size_t> taken = parser_->read_head(connection_->unread());
    EXPECT_TRUE(taken && parser_->head_done());
    connection_->consume(taken.value_or(0));
    return transaction_.emplace(*connection_, *parser_, head_, out_, "192.0.2.7", patience, 0);
  }

  void say(std::string_view text) { EXPECT_EQ(::send(client_, text.data(), text.size(), MSG_NOSIGNAL), text.size()); }
  void hang_up() {
    if (client_ >= 0) ::close(std::exchange(client_, -1));
  }

  // All that the client has got by now.
  std::string heard() {
    std::string all;
    std::array<char, 65'536> room;
    for (auto got = ::recv(client_, room.data(), room.size(), 0); got > 0;
         got = ::recv(client_, room.data(), room.size(), 0)) {
      all.append(room.data(), static_cast<std::size_t>(got));
    }
    return all;
  }
  bool closed() {
    char byte = 0;
    return ::recv(client_, &byte, 1, MSG_PEEK) == 0;
  }

  // Starts a task, whose result is there when it has ended.
  template <class T>
  std::shared_ptr<std::optional<T>> start(Task<T> task) {
    auto result = std::make_shared<std::optional<T>>();
    boost::asio::co_spawn(context_, std::move(task), [result](const std::exception_ptr& thrown, T value) {
      EXPECT_EQ(thrown, nullptr);
      result->emplace(std::move(value));
    });
    turn();
    return result;
  }
  void turn() {
    context_.restart();
    context_.poll();
  }
  void pass(Millis time) {
    for (; time > Millis{0}; time -= Ticker::period) {
      clock_.advance(Ticker::period);
      turn();
    }
  }

  boost::asio::io_context context_;
  test::VirtualClock clock_;
  Ticker ticker_{clock_, context_.get_executor()};
  int client_ = -1;
  std::unique_ptr<Connection> connection_;
  Head head_;
  std::string out_;
  std::optional<RequestParser> parser_;
  std::optional<Http1Transaction> transaction_;
};

TEST_F(Http1TransactionTest, KnowsTheRequestBeforeItsBody) {
  const Transaction& request = ask(std::string(post) + "Content-Length: 4\r\n\r\n");
  EXPECT_EQ(request.head().target(), "/v1/charges");
  EXPECT_EQ(request.peer(), "192.0.2.7");
  EXPECT_EQ(request.client_subject(), "");
  EXPECT_FALSE(request.encrypted());
  EXPECT_FALSE(request.is_head());
  EXPECT_FALSE(request.body_read());
  EXPECT_EQ(request.status_sent(), 0);
  EXPECT_EQ(request.executor(), context_.get_executor());
}

TEST_F(Http1TransactionTest, ReadsABodyThatComesInPieces) {
  Transaction& request = ask(std::string(post) + "Content-Length: 6\r\n\r\nab");
  const auto body = start(request.read_whole_body(100));
  EXPECT_FALSE(*body);
  say("cdef");
  turn();
  ASSERT_TRUE(*body && **body);
  EXPECT_EQ(***body, "abcdef");
  EXPECT_TRUE(request.body_read());
}

TEST_F(Http1TransactionTest, HandsOutPiecesAsTheyCome) {
  Transaction& request = ask(std::string(post) + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n");
  const Try<std::string_view> first = test::run(context_, request.read_body());
  ASSERT_TRUE(first);
  EXPECT_EQ(*first, "ab");
  EXPECT_FALSE(request.body_read());
  const auto second = start(request.read_body());
  EXPECT_FALSE(*second);
  say("1\r\nc\r\n0\r\n\r\n");
  turn();
  ASSERT_TRUE(*second && **second);
  EXPECT_EQ(***second, "c");
  const Try<std::string_view> end = test::run(context_, request.read_body());
  ASSERT_TRUE(end);
  EXPECT_EQ(*end, "");
  EXPECT_TRUE(request.body_read());
}

// A body that says itself that it is too long is refused before a byte of it has come.
TEST_F(Http1TransactionTest, RefusesABodyOverTheLimitAtOnce) {
  Transaction& request = ask(std::string(post) + "Expect: 100-continue\r\nContent-Length: 101\r\n\r\n");
  const Try<std::string> body = test::run(context_, request.read_whole_body(100));
  ASSERT_FALSE(body);
  EXPECT_EQ(body.error(), Failure::too_large);
  EXPECT_EQ(heard(), "");
}

TEST_F(Http1TransactionTest, CountsTheBytesOfABodyWithoutALength) {
  Transaction& request = ask(std::string(post) + "Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n");
  const Try<std::string> body = test::run(context_, request.read_whole_body(4));
  ASSERT_FALSE(body);
  EXPECT_EQ(body.error(), Failure::too_large);
}

TEST_F(Http1TransactionTest, InvitesABodyOnlyWhenItIsRead) {
  Transaction& request = ask(std::string(post) + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(heard(), "");
  const auto body = start(request.read_whole_body(100));
  EXPECT_EQ(heard(), "HTTP/1.1 100 Continue\r\n\r\n");
  say("ab");
  turn();
  ASSERT_TRUE(*body && **body);
  EXPECT_EQ(***body, "ab");
  EXPECT_FALSE(transaction_->close_wanted());
}

// Nobody can tell whether a body that was not invited still comes.
TEST_F(Http1TransactionTest, ClosesAfterAReplyWithoutInvitation) {
  Transaction& request = ask(std::string(post) + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_TRUE(test::run(context_, request.reply(403, no_fields, "no")));
  EXPECT_EQ(heard(), "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
  EXPECT_TRUE(transaction_->close_wanted());
}

// The body has one deadline, trickling does not move it, and the client still learns why.
TEST_F(Http1TransactionTest, RepliesToAClientWhoseBodyIsLate) {
  Transaction& request = ask(std::string(post) + "Content-Length: 100\r\n\r\n");
  const auto body = start(request.read_whole_body(100));
  pass(patience / 2);
  say("a");
  pass(patience / 2);
  EXPECT_FALSE(*body);
  pass(Ticker::period);
  ASSERT_TRUE(*body);
  ASSERT_FALSE(**body);
  EXPECT_EQ((*body)->error(), Failure::timed_out);
  request.close_after();
  EXPECT_TRUE(test::run(context_, request.reply(408, no_fields, "")));
  EXPECT_EQ(heard(), "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

TEST_F(Http1TransactionTest, InterruptsAPieceThatIsLateBeforeAReply) {
  Transaction& request = ask(std::string(post) + "Content-Length: 100\r\n\r\n");
  const auto piece = start(request.read_body());
  pass(patience + Ticker::period);
  ASSERT_TRUE(*piece);
  EXPECT_EQ((*piece)->error(), Failure::timed_out);
  EXPECT_FALSE(closed());
}

TEST_F(Http1TransactionTest, ClosesOnAPieceThatIsLateDuringAReply) {
  Transaction& request = ask(std::string(post) + "Content-Length: 100\r\n\r\n");
  const auto piece = start(request.read_body());
  const Transaction::Form form{.framing = Framing::chunked, .length = 0};
  EXPECT_TRUE(test::run(context_, request.start_reply(200, no_fields, form, "x")));
  request.await_more();
  pass(patience + Ticker::period);
  ASSERT_TRUE(*piece);
  EXPECT_EQ((*piece)->error(), Failure::timed_out);
  heard();
  EXPECT_TRUE(closed());
}

TEST_F(Http1TransactionTest, TimesOutAClientThatDoesNotTakeItsReply) {
  Transaction& request = ask("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
  const std::string large(8U << 20U, 'x');
  const auto sent = start(request.reply(200, no_fields, large));
  pass(patience);
  EXPECT_FALSE(*sent);
  pass(Ticker::period);
  ASSERT_TRUE(*sent);
  ASSERT_FALSE(**sent);
  EXPECT_EQ((*sent)->error(), Failure::timed_out);
}

TEST_F(Http1TransactionTest, StopsAReadForAnotherCoroutine) {
  Transaction& request = ask(std::string(post) + "Content-Length: 100\r\n\r\n");
  const auto piece = start(request.read_body());
  request.stop_reading();
  turn();
  ASSERT_TRUE(*piece);
  EXPECT_EQ((*piece)->error(), Failure::broken);
  EXPECT_FALSE(closed());
}

// While a handler waits for something else, the client is in no hurry and the connection stays.
TEST_F(Http1TransactionTest, RingsWithoutTouchingTheConnection) {
  Transaction& request = ask("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
  int rung = 0;
  request.alarm(Millis{1'000}, [&] { ++rung; });
  pass(Millis{1'250});
  EXPECT_EQ(rung, 1);
  EXPECT_FALSE(closed());
  request.alarm(Millis{1'000}, [&] { ++rung; });
  request.silence();
  pass(10 * patience);
  EXPECT_EQ(rung, 1);
  EXPECT_TRUE(test::run(context_, request.reply(200, no_fields, "ok")));
  EXPECT_EQ(heard(), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
}

// The deadline is the transaction's, not the connection's: it does not outlive the transaction.
TEST_F(Http1TransactionTest, LeavesNoDeadlineBehind) {
  EXPECT_TRUE(test::run(context_, ask("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n").reply(200, no_fields, "one")));
  transaction_.reset();
  pass(10 * patience);
  heard();
  EXPECT_FALSE(closed());
  Transaction& next = ask("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
  EXPECT_TRUE(test::run(context_, next.reply(200, no_fields, "two")));
  EXPECT_EQ(heard(), "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo");
}

TEST_F(Http1TransactionTest, WritesTheFieldsThatItIsGiven) {
  Transaction& request = ask("GET / HTTP/1.0\r\nHost: a.example\r\nConnection: keep-alive\r\n\r\n");
  const auto fields = [](HeadWriter& head) { head.field("X-One", "1"); };
  EXPECT_TRUE(test::run(context_, request.reply(204, fields, "never sent")));
  EXPECT_EQ(request.status_sent(), 204);
  EXPECT_EQ(heard(), "HTTP/1.1 204 No Content\r\nX-One: 1\r\nConnection: keep-alive\r\n\r\n");
}

TEST_F(Http1TransactionTest, ChunksAReplyOfUnknownLength) {
  Transaction& request = ask("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
  const Transaction::Form form{.framing = Framing::until_close, .length = 0};
  EXPECT_TRUE(test::run(context_, request.start_reply(200, no_fields, form, "")));
  request.await_more();
  EXPECT_TRUE(test::run(context_, request.continue_reply("0123456789abcdef")));
  request.await_more();
  EXPECT_TRUE(test::run(context_, request.end_reply()));
  EXPECT_EQ(heard(), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n");
  EXPECT_FALSE(transaction_->close_wanted());
}

// A client of HTTP/1.0 knows no chunks: the body ends with the connection.
TEST_F(Http1TransactionTest, EndsAReplyOfUnknownLengthByClosing) {
  Transaction& request = ask("GET / HTTP/1.0\r\nHost: a.example\r\nConnection: keep-alive\r\n\r\n");
  const Transaction::Form form{.framing = Framing::chunked, .length = 0};
  EXPECT_TRUE(test::run(context_, request.start_reply(200, no_fields, form, "abc")));
  EXPECT_TRUE(test::run(context_, request.end_reply()));
  EXPECT_EQ(heard(), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc");
  EXPECT_TRUE(transaction_->close_wanted());
}

TEST_F(Http1TransactionTest, SendsNoBodyInReplyToHead) {
  Transaction& request = ask("HEAD / HTTP/1.1\r\nHost: a.example\r\n\r\n");
  EXPECT_TRUE(request.is_head());
  const Transaction::Form form{.framing = Framing::length, .length = 3};
  EXPECT_TRUE(test::run(context_, request.start_reply(200, no_fields, form, "abc")));
  EXPECT_TRUE(test::run(context_, request.end_reply()));
  EXPECT_EQ(heard(), "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n");
}

TEST_F(Http1TransactionTest, CutsAReplySoThatTheClientNotices) {
  Transaction& request = ask("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
  const Transaction::Form form{.framing = Framing::length, .length = 100};
  EXPECT_TRUE(test::run(context_, request.start_reply(200, no_fields, form, "abc")));
  request.cut_reply();
  heard();
  EXPECT_TRUE(closed());
}

// After 101 bytes go both ways, whatever they are, until both sides have closed.
TEST_F(Http1TransactionTest, CarriesAnotherProtocol) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
  Socket socket(context_.get_executor());
  socket.assign(boost::asio::ip::tcp::v4(), ends[1]);
  Connection other(std::move(socket), ticker_);

  Transaction& request = ask("GET / HTTP/1.1\r\nHost: a.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
  bool ended = false;
  boost::asio::co_spawn(context_, request.switch_protocol("websocket", no_fields, other, Millis{60'000}),
                        [&](const std::exception_ptr& /*thrown*/) { ended = true; });
  turn();
  EXPECT_EQ(request.status_sent(), 101);
  EXPECT_EQ(heard(), "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  pass(patience + Ticker::period);  // the reply's deadline is over, the tunnel has its own
  say("up");
  turn();
  std::array<char, 8> room{};
  EXPECT_EQ(::recv(ends[0], room.data(), room.size(), 0), 2);
  EXPECT_EQ(::send(ends[0], "down", 4, MSG_NOSIGNAL), 4);
  turn();
  EXPECT_EQ(heard(), "down");
  EXPECT_FALSE(ended);
  ::close(ends[0]);
  hang_up();
  turn();
  EXPECT_TRUE(ended);
  EXPECT_TRUE(transaction_->close_wanted());
}

}  // namespace
}  // namespace semel::http
