// Sockets that are passed on: which are taken, and that they stay open.
#include "http/inherited.h"

#include <cstdint>
#include <optional>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace semel::http {
namespace {

// A socket on the loopback, closed with the test.
class Loopback {
 public:
  enum class Kind : std::uint8_t { listening, idle };
  explicit Loopback(Kind kind) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    if (kind == Kind::listening) EXPECT_EQ(listen(socket_, 1), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~Loopback() { close(socket_); }
  Loopback(const Loopback&) = delete;
  Loopback& operator=(const Loopback&) = delete;

  [[nodiscard]] int socket_number() const { return socket_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  int socket_;
  std::uint16_t port_ = 0;
};

// A listener takes the socket with its port, as a copy that it may close; programs that we start get none.
TEST(Inherited, HandsOutCopiesByPort) {
  const Loopback one(Loopback::Kind::listening);
  const Loopback two(Loopback::Kind::listening);
  const auto inherited = Inherited::of({one.socket_number(), two.socket_number()});
  ASSERT_TRUE(inherited);
  EXPECT_EQ(inherited->ports(), (std::vector<std::uint16_t>{one.port(), two.port()}));
  const std::optional<int> copy = inherited->copy_of(two.port());
  ASSERT_TRUE(copy);
  EXPECT_NE(*copy, two.socket_number());
  EXPECT_EQ(fcntl(*copy, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  close(*copy);
  EXPECT_TRUE(inherited->copy_of(two.port()).has_value()) << "ours is closed, the one that was passed on is not";
  EXPECT_FALSE(inherited->copy_of(0));
  EXPECT_FALSE(Inherited().copy_of(one.port()));
}

// A descriptor that is no listening socket is a mistake of whoever started us.
TEST(Inherited, TakesOnlyWhatListens) {
  const Loopback idle(Loopback::Kind::idle);
  EXPECT_FALSE(Inherited::of({idle.socket_number()}));
  EXPECT_FALSE(Inherited::of({STDIN_FILENO}));
  EXPECT_FALSE(Inherited::of({-1}));
}

}  // namespace
}  // namespace semel::http
