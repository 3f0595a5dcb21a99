// Which addresses a range of a configuration holds.
#include "reading/address_range.h"

#include <string_view>

#include <gtest/gtest.h>

namespace semel::reading {
namespace {

bool holds(std::string_view range, std::string_view address) {
  const auto parsed = AddressRange::parse(range);
  return parsed && parsed->holds(address);
}

// Goal: one address, whole bytes, and parts of a byte, in both families.
TEST(AddressRange, HoldsWhatBeginsAlike) {
  EXPECT_TRUE(holds("10.0.0.5", "10.0.0.5"));
  EXPECT_FALSE(holds("10.0.0.5", "10.0.0.50"));
  EXPECT_TRUE(holds("10.0.0.0/8", "10.255.1.2"));
  EXPECT_FALSE(holds("10.0.0.0/8", "11.0.0.0"));
  EXPECT_TRUE(holds("192.168.4.0/22", "192.168.7.255"));
  EXPECT_FALSE(holds("192.168.4.0/22", "192.168.8.0"));
  EXPECT_TRUE(holds("0.0.0.0/0", "203.0.113.7"));
  EXPECT_TRUE(holds("fd00::/9", "fd7f::1"));
  EXPECT_FALSE(holds("fd00::/9", "fd80::1"));
  EXPECT_TRUE(holds("::1", "0:0:0:0:0:0:0:1"));
}

// Goal: a socket for both families tells IPv4 clients in the form of IPv6; a range of one family is not all of the
// other.
TEST(AddressRange, KnowsIpv4InTheFormOfIpv6) {
  EXPECT_TRUE(holds("10.0.0.0/8", "::ffff:10.1.2.3"));
  EXPECT_FALSE(holds("0.0.0.0/0", "fd00::1"));
  EXPECT_FALSE(holds("fd00::/8", "10.0.0.1"));
}

// Goal: what is no address holds nothing.
TEST(AddressRange, HoldsNoOtherText) {
  for (const std::string_view text : {"", "localhost", "10.0.0", "10.0.0.1 ", "10.0.0.1, 10.0.0.5", "unix:"}) {
    EXPECT_FALSE(holds("0.0.0.0/0", text)) << text;
  }
}

// Goal: what could be meant in two ways is refused.
TEST(AddressRange, RefusesWhatIsNoRange) {
  for (const std::string_view text : {"", "proxy", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "10.0.0.0/8 ",
                                      "10.0.0.1/8", "::/129", "::1/64", "/8", "[::1]", "10.0.0.0/-1"}) {
    EXPECT_FALSE(AddressRange::parse(text)) << text;
  }
}

}  // namespace
}  // namespace semel::reading
