// Addresses that are one client, and addresses that are not.
#include "http/network.h"

#include <gtest/gtest.h>

namespace semel::http {
namespace {

// One machine has all addresses of a /64; two machines of IPv4 have two addresses.
TEST(Network, IsTheAddressOrTheFirstHalfOfIt) {
  EXPECT_EQ(network_of("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(network_of("::ffff:192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(network_of("2001:db8:1:2::1"), "2001:db8:1:2::/64");
  EXPECT_EQ(network_of("2001:db8:1:2:ffff:ffff:ffff:ffff"), "2001:db8:1:2::/64");
  EXPECT_EQ(network_of("2001:DB8:1:2::1"), network_of("2001:db8:1:2::2"));
  EXPECT_NE(network_of("2001:db8:1:3::1"), network_of("2001:db8:1:2::1"));
  EXPECT_EQ(network_of("fe80::1%eth0"), "fe80::/64");
  EXPECT_EQ(network_of("::1"), "::/64");
}

// What is no address counts as itself.
TEST(Network, LeavesAnythingElseAlone) {
  EXPECT_EQ(network_of(""), "");
  EXPECT_EQ(network_of("unix:"), "unix:");
}

}  // namespace
}  // namespace semel::http
