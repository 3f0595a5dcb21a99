// Endpoints and URLs: what is taken, and each refusal with its place.
#include "reading/address.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace semel::reading {
namespace {

// Names, IPv4 and bracketed IPv6 addresses with a port are endpoints, and are written back as they were.
TEST(Endpoint, ReadsAddressesWithPorts) {
  for (const std::string_view text :
       {"127.0.0.1:8080", "0.0.0.0:0", "localhost:65535", "[::1]:8080", "[::]:80", "[2001:db8::7]:443",
        "[::ffff:127.0.0.1]:1", "[1:2:3:4:5:6:7:8]:9", "gateway.internal:80"}) {
    const auto parsed = parse_endpoint(text);
    ASSERT_TRUE(parsed) << text << ": " << parsed.error().message;
    EXPECT_EQ(endpoint_text(*parsed), text);
  }
}

struct Bad {
  std::string_view text;
  std::string_view message;
  std::string_view suggestion;
  std::size_t offset;
};

// Each way of getting an endpoint wrong has its own message, and a suggestion where the meaning is plain.
TEST(Endpoint, RefusesOtherForms) {
  const std::vector<Bad> cases{{":8080", "the address to listen on is missing", "127.0.0.1:8080", 0},
                               {"8080", "the address to listen on is missing", "127.0.0.1:8080", 0},
                               {"127.0.0.1", "\"127.0.0.1\" has no port", "127.0.0.1:8080", 0},
                               {"[::1]", "\"[::1]\" has no port", "[::1]:8080", 0},
                               {"::1:8080", "an IPv6 address is written in brackets", "[::1]:8080", 0},
                               {"[::1", "the `[` of an IPv6 address is never closed", "", 0},
                               {"[::g]:1", "\"::g\" is not an IPv6 address", "", 1},
                               {"[1:2:3:4:5:6:7:8:9]:1", "\"1:2:3:4:5:6:7:8:9\" is not an IPv6 address", "", 1},
                               {"[::1::2]:1", "\"::1::2\" is not an IPv6 address", "", 1},
                               {"[1:2:3:4:5:6:7::8]:1", "\"1:2:3:4:5:6:7::8\" is not an IPv6 address", "", 1},
                               {"[::1]8080", "expected a colon and a port after the `]`", "", 5},
                               {"host:", "there is no port after the colon", "", 5},
                               {"host:http", "\"http\" is not a port; write a number from 0 to 65535", "", 5},
                               {"host:65536", "\"65536\" is not a port; write a number from 0 to 65535", "", 5},
                               {"host:+1", "\"+1\" is not a port; write a number from 0 to 65535", "", 5},
                               {"256.0.0.1:80", "\"256.0.0.1\" is neither a name nor an address", "", 0},
                               {"1.2.3:80", "\"1.2.3\" is neither a name nor an address", "", 0},
                               {"01.2.3.4:80", "\"01.2.3.4\" is neither a name nor an address", "", 0},
                               {"a b:80", "\"a b\" is neither a name nor an address", "", 0},
                               {"", "\"\" is neither a name nor an address", "", 0}};
  for (const Bad& bad : cases) {
    const auto parsed = parse_endpoint(bad.text);
    ASSERT_FALSE(parsed) << bad.text;
    EXPECT_EQ(parsed.error().message, bad.message) << bad.text;
    EXPECT_EQ(parsed.error().suggestion, bad.suggestion) << bad.text;
    EXPECT_EQ(parsed.error().offset, bad.offset) << bad.text;
  }
}

// Only what cannot be reached from another machine counts as loopback.
TEST(Endpoint, KnowsLoopback) {
  for (const std::string_view text : {"127.0.0.1:1", "127.9.8.7:1", "[::1]:1", "localhost:1", "LOCALHOST:1"}) {
    EXPECT_TRUE(is_loopback(parse_endpoint(text).value())) << text;
  }
  for (const std::string_view text :
       {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "127.evil.example:1", "localhost.example:1"}) {
    EXPECT_FALSE(is_loopback(parse_endpoint(text).value())) << text;
  }
}

// The port is the scheme's own where none is written, and left out again when the URL or its Host field is written.
TEST(Url, ReadsHttpAndHttps) {
  const Url plain = parse_url("http://127.0.0.1:3000").value();
  EXPECT_EQ(plain, (Url{.secure = false, .authority = {.host = "127.0.0.1", .port = 3000}, .path = ""}));
  EXPECT_EQ(host_field(plain), "127.0.0.1:3000");
  const Url secure = parse_url("https://api.example.com/base/").value();
  EXPECT_EQ(secure, (Url{.secure = true, .authority = {.host = "api.example.com", .port = 443}, .path = "/base/"}));
  EXPECT_EQ(host_field(secure), "api.example.com");
  EXPECT_EQ(url_text(secure), "https://api.example.com/base/");
  EXPECT_EQ(url_text(parse_url("http://[::1]:80/").value()), "http://[::1]/");
  EXPECT_EQ(host_field(parse_url("https://h:80").value()), "h:80");
}

// Whatever a URL of ours cannot have is refused at the byte where it stands.
TEST(Url, RefusesOtherForms) {
  const std::vector<Bad> cases{
      {"127.0.0.1:3000", "a URL begins with http:// or https://", "http://127.0.0.1:3000", 0},
      {"ftp://h", "a URL begins with http:// or https://", "", 0},
      {"HTTP://h", "a URL begins with http:// or https://", "", 0},
      {"", "a URL begins with http:// or https://", "", 0},
      {"http://u:p@h", "a URL here has no user, query, fragment, white space or backslash", "", 10},
      {"http://h?x", "a URL here has no user, query, fragment, white space or backslash", "", 8},
      {"http://h#x", "a URL here has no user, query, fragment, white space or backslash", "", 8},
      {"http://h/a b", "a URL here has no user, query, fragment, white space or backslash", "", 10},
      {"http://h/\x01", "a URL holds no control characters", "", 0},
      {"http://", "\"\" is neither a name nor an address", "", 7},
      {"http://h:0", "port 0 cannot be called", "", 9},
      {"http://h:x", "\"x\" is not a port; write a number from 0 to 65535", "", 9},
      {"http://[::1", "the `[` of an IPv6 address is never closed", "", 7}};
  for (const Bad& bad : cases) {
    const auto parsed = parse_url(bad.text);
    ASSERT_FALSE(parsed) << bad.text;
    EXPECT_EQ(parsed.error().message, bad.message) << bad.text;
    EXPECT_EQ(parsed.error().suggestion, bad.suggestion) << bad.text;
    EXPECT_EQ(parsed.error().offset, bad.offset) << bad.text;
  }
}

}  // namespace
}  // namespace semel::reading
