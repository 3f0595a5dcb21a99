// A connection that is closed on this side while bytes of the peer arrive.
#include "http/connection.h"

#include <array>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include "http/failure.h"
#include "http/ticker.h"
#include "support/virtual_clock.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::http {
namespace {

// The bytes are there already, and are read at once. The reader hears of them after what had to be done before.
Task<void> fill_after(Connection* connection, Ticker* ticker, std::optional<Try<void>>* filled) {
  connection->deadline().idle(Millis{60'000});
  boost::asio::post(connection->executor(), [ticker] { ticker->cut_idle(); });
  *filled = co_await connection->fill();
}

TEST(Connection, TakesNothingThatCameAsItWasCutForBeingIdle) {
  // Goal: a gateway that stops cuts idle connections. A request that came at that moment could be forwarded, but its
  // answer could not be given any more.
  boost::asio::io_context context;
  test::VirtualClock clock;
  Ticker ticker(clock, context.get_executor());
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
  Socket socket(context.get_executor());
  socket.assign(boost::asio::ip::tcp::v4(), ends[1]);
  Connection connection(std::move(socket), ticker);
  constexpr std::string_view request = "POST /v1/charges HTTP/1.1\r\n";
  ASSERT_EQ(::send(ends[0], request.data(), request.size(), MSG_NOSIGNAL), request.size());
  std::optional<Try<void>> filled;
  boost::asio::co_spawn(context, fill_after(&connection, &ticker, &filled),
                        [](const std::exception_ptr& thrown) { EXPECT_EQ(thrown, nullptr); });
  context.poll();

  ASSERT_TRUE(filled.has_value());
  EXPECT_FALSE(filled->has_value());
  EXPECT_TRUE(connection.unread().empty());
  ::close(ends[0]);
}

}  // namespace
}  // namespace semel::http
