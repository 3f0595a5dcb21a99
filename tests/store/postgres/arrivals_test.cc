// How the driver's thread sleeps and is woken.

#include "store/postgres/arrivals.h"

#include <chrono>
#include <thread>
#include <vector>

#include <sys/poll.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace semel::test {
namespace {

using store::postgres::Arrivals;
using store::postgres::Link;

constexpr Millis for_ever{60'000};

Result<Link> no_link() {
  return fail(Code::unavailable, "nobody there");
}

// What arrived before is not slept over; what arrives during the sleep ends it. Either way it is taken once.
TEST(Arrivals, EndTheSleep) {
  Arrivals arrivals;
  std::vector<pollfd> none;
  arrivals.add(no_link());
  EXPECT_FALSE(arrivals.wait(none, for_ever));
  EXPECT_EQ(arrivals.take().links.size(), 1U);
  EXPECT_TRUE(arrivals.take().links.empty());

  std::jthread other([&] {
    std::this_thread::sleep_for(Millis{50});
    arrivals.add(no_link());
  });
  EXPECT_FALSE(arrivals.wait(none, for_ever));
  EXPECT_EQ(arrivals.take().links.size(), 1U);
  EXPECT_TRUE(none.empty());
}

// A socket that can be read ends the sleep too, and is told apart from an arrival.
TEST(Arrivals, ASocketEndsTheSleep) {
  Arrivals arrivals;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::vector<pollfd> sockets{{.fd = ends[0], .events = POLLIN, .revents = 0}};
  EXPECT_FALSE(arrivals.wait(sockets, Millis{1}));
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  EXPECT_TRUE(arrivals.wait(sockets, for_ever));
  EXPECT_EQ(sockets.size(), 1U);
  EXPECT_NE(sockets.front().revents, 0);
  for (const int end : ends) ::close(end);
}

// Nobody sleeps when the end is near.
TEST(Arrivals, ClosingEndsEverySleep) {
  Arrivals arrivals;
  std::vector<pollfd> none;
  EXPECT_FALSE(arrivals.closing());
  arrivals.close();
  EXPECT_TRUE(arrivals.closing());
  EXPECT_FALSE(arrivals.wait(none, for_ever));
  EXPECT_FALSE(arrivals.wait(none, for_ever)) << "not only once";
}

}  // namespace
}  // namespace semel::test
