// Which paths a lenient server takes for one another, and which no server does.
#include "policy/spelling.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "policy/pattern.h"

namespace semel::policy {
namespace {

std::string plainest(std::string_view path) {
  const Spelling spelling(path);
  return fmt::format("/{}", fmt::join(spelling.segments(), "/"));
}

bool reads_as(std::string_view path, std::string_view text, Overlooked what) {
  return Spelling(path).reads_as(policy::plainest(pattern(text)), what);
}

// What an obliging server makes of a path: all of these are the same handler there.
TEST(Spelling, KnowsThePlainestFormOfAPath) {
  for (const std::string_view path : {"/wh/stripe",
                                      "/wh/strip%65",
                                      "//wh/stripe",
                                      "/wh//stripe/",
                                      "/WH/Stripe",
                                      "/wh;v=1/stripe",
                                      "/x/../wh/stripe",
                                      "/wh/./stripe",
                                      "/wh%2fstripe",
                                      "/wh\\stripe",
                                      "/wh/strip%2565",
                                      "/%77h/%73tripe",
                                      "/wh/stripe.",
                                      "/wh/stripe%20",
                                      "/wh/stripe%0A",
                                      "/wh%09/stripe...",
                                      "/wh/stripe.;x",
                                      "/wh/%25252573tripe",
                                      "/wh%c0%afstripe",
                                      "/wh/strip%C1%A5",
                                      "/wh/strip%e0%81%a5",
                                      "/wh/%u0073tripe",
                                      "/wh/%c5%bftripe",
                                      "/wh/str%00ipe",
                                      "/wh/%7%33tripe",
                                      "/wh/%f0%80%81%b3tripe",
                                      "/wh/%f8%80%80%81%b3tripe",
                                      "/wh/stripe%c2%a0",
                                      "/wh/stripe%E3%80%80",
                                      "/wh/stripe%e2%80%83",
                                      "/wh/%ef%bd%93tripe",
                                      "/wh/%uff53tripe",
                                      "/(S(x))/wh/stripe",
                                      "/wh/(a(x)f(y))/stripe"}) {
    EXPECT_EQ(plainest(path), "/wh/stripe") << path;
  }
  EXPECT_EQ(plainest("/"), "/");
  EXPECT_EQ(plainest("/../.."), "/");
  EXPECT_EQ(plainest("/wh/%zz%6"), "/wh/%zz%6");
  EXPECT_EQ(plainest("/.well-known/a.b"), "/.well-known/a.b");
}

// A path is passed over only if it is its own plainest spelling.
TEST(Spelling, KnowsWhichPathsArePlainAlready) {
  for (const std::string_view path : {"/", "/wh", "/wh/stripe", "/a.b/c-d_e~f", "/a=b&c", "/\xc3\xa9"}) {
    EXPECT_TRUE(is_plainest(path)) << path;
    EXPECT_EQ(plainest(path), path);
  }
  const auto piece =
      rc::gen::element<std::string>("/", "a", "B", ".", "..", "%", "6", "1", ";", "\\", "-", " ", "\xc5\xbf", "?");
  rc::check([&] {
    std::string path = "/";
    for (const std::string& one : *rc::gen::container<std::vector<std::string>>(piece)) path += one;
    if (is_plainest(path)) RC_ASSERT(plainest(path) == path);
  });
}

// A C string ends at a NUL, and a path that is decoded twice at a question mark.
TEST(Spelling, EndsWhereAServerStopsReading) {
  for (const std::string_view path : {"/wh/stripe%00", "/wh/stripe%00.json", "/wh/stripe%00/x", "/wh/stripe%3Fa=/b",
                                      "/wh/stripe%23/x", "/wh/stripe%2500x"}) {
    EXPECT_TRUE(reads_as(path, "/wh/stripe", Overlooked::writing)) << path;
  }
  EXPECT_FALSE(reads_as("/wh%00/stripe/x", "/wh/stripe", Overlooked::writing));
}

TEST(Spelling, KnowsEndings) {
  EXPECT_TRUE(reads_as("/wh/stripe.json", "/wh/stripe", Overlooked::ending));
  EXPECT_TRUE(reads_as("/wh/stripe.a.b", "/wh/stripe", Overlooked::ending));
  EXPECT_TRUE(reads_as("/wh/stripe", "/wh/stripe.php", Overlooked::ending));
  EXPECT_FALSE(reads_as("/wh/stripes.json", "/wh/stripe", Overlooked::ending));
  EXPECT_FALSE(reads_as("/wh.json/stripe", "/wh/stripe", Overlooked::ending));
  EXPECT_FALSE(reads_as("/wh/v1.3", "/wh/v1.2", Overlooked::ending));
  EXPECT_FALSE(reads_as("/wh/v1", "/wh/v1.2", Overlooked::ending));
  EXPECT_FALSE(reads_as("/v1/a.json", "/v1/*", Overlooked::ending)) << "the pattern has it already";
}

TEST(Spelling, KnowsScripts) {
  for (const std::string_view path : {"/index.php/wh/stripe", "/a/b.cgi/wh/stripe", "/wh/app.py/stripe",
                                      "/wh/stripe/index.php", "/wh/stripe/index.html", "/x.php/y.php/wh/stripe.json"}) {
    EXPECT_TRUE(reads_as(path, "/wh/stripe", Overlooked::script)) << path;
  }
  EXPECT_TRUE(reads_as("/index.php/v1/a", "/v1/*", Overlooked::script));
  EXPECT_TRUE(reads_as("/wh.php/stripe", "/wh/stripe", Overlooked::script));
  EXPECT_FALSE(reads_as("/wh.php/other", "/wh/stripe", Overlooked::script));
  EXPECT_FALSE(reads_as("/index/wh/stripe", "/wh/stripe", Overlooked::script));
  EXPECT_FALSE(reads_as("/a.txt/wh/stripe", "/wh/stripe", Overlooked::script));
  EXPECT_FALSE(reads_as("/a.php/x", "/*", Overlooked::script)) << "everything is behind every script";
}

TEST(Spelling, KnowsWhatIsBelow) {
  for (const std::string_view path :
       {"/wh/stripe/x", "/WH/stripe//x/y", "/index.php/wh/stripe/x", "/wh/stripe/..%2fx", "/a/../wh/stripe/%2e%2e/b"}) {
    EXPECT_TRUE(reads_as(path, "/wh/stripe", Overlooked::rest)) << path;
  }
  EXPECT_FALSE(reads_as("/wh/stripes/x", "/wh/stripe", Overlooked::rest));
  EXPECT_FALSE(reads_as("/wh", "/wh/stripe", Overlooked::rest));
  EXPECT_FALSE(reads_as("/anything", "/", Overlooked::rest)) << "everything is below everything's root";
}

// Many servers take `/v1` for `/v1/`.
TEST(Spelling, AnOpenPatternBeginsBeforeItsSlash) {
  EXPECT_TRUE(reads_as("/V1", "/v1/*", Overlooked::writing));
  EXPECT_FALSE(reads_as("/v", "/v1/*", Overlooked::writing));
}

rc::Gen<std::string> word() {
  return rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::element('a', 'b', 'c', 's', '1', '-')));
}
rc::Gen<std::vector<std::string>> words() {
  return rc::gen::nonEmpty(rc::gen::resize(4, rc::gen::container<std::vector<std::string>>(word())));
}

std::string encoded(char c, int times) {
  std::string text(1, c);
  for (int i = 0; i < times; ++i) text = fmt::format("%{:02x}{}", static_cast<unsigned char>(text[0]), text.substr(1));
  return text;
}

// One character as somebody might write it who wants it overlooked.
std::string disguised(char c) {
  switch (*rc::gen::inRange(0, 6)) {
    case 0:
      return std::string(1, static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c));
    case 1:
      return encoded(c, *rc::gen::inRange(1, 4));
    case 2:
      return fmt::format("%{:02x}%{:02x}", 0xc0 | static_cast<unsigned>(c) >> 6U,
                         0x80 | (static_cast<unsigned>(c) & 0x3fU));
    default:
      return std::string(1, c);
  }
}

std::string disguised(const std::vector<std::string>& segments) {
  const auto before = rc::gen::element<std::string>("/", "/", "//", "/./", "/x/../", "%2f", "\\", "/%20");
  const auto behind = rc::gen::element<std::string>("", "", ";a=1", ".", "%20", "%0d%0a", "..%09.");
  std::string path;
  for (const std::string& segment : segments) {
    path += path.empty() ? "/" : *before;
    for (const char c : segment) path += disguised(c);
    path += *behind;
  }
  return path + *rc::gen::element<std::string>("", "/", "//", "/.", "%00.json");
}

// Whatever is done to the writing of a path, it is recognised; and so is what is put around it.
TEST(Spelling, RecognisesEveryDisguise) {
  rc::check([] {
    const std::vector<std::string> segments = *words();
    const std::string text = fmt::format("/{}", fmt::join(segments, "/"));
    RC_ASSERT(reads_as(disguised(segments), text, Overlooked::writing));
    const std::string tail = disguised(segments);
    RC_ASSERT(reads_as("/index.php" + tail, text, Overlooked::script));
    std::vector<std::string> ended = segments;
    ended.back() += ".json";
    RC_ASSERT(reads_as(disguised(ended), text, Overlooked::ending));
    std::vector<std::string> more = segments;
    more.push_back(*word());
    RC_ASSERT(reads_as(disguised(more), text, Overlooked::rest));
  });
}

// A path of other words is nobody else's, however both are written; what is below it counts only as such.
TEST(Spelling, TakesNoOtherPathForIt) {
  rc::check([] {
    const std::vector<std::string> segments = *words();
    const std::vector<std::string> others = *words();
    if (segments == others) return;
    const std::string text = fmt::format("/{}", fmt::join(segments, "/"));
    const std::string path =
        *rc::gen::arbitrary<bool>() ? disguised(others) : fmt::format("/{}", fmt::join(others, "/"));
    for (const Overlooked what : {Overlooked::writing, Overlooked::ending, Overlooked::script}) {
      RC_ASSERT(!reads_as(path, text, what));
    }
    const bool below = others.size() > segments.size() && std::equal(segments.begin(), segments.end(), others.begin());
    RC_ASSERT(reads_as(path, text, Overlooked::rest) == below);
  });
}

// A path cannot be written so that reading it takes long: this one is decoded two thousand times over.
TEST(Spelling, ReadsALongPathInOnePass) {
  std::string path = "/wh/strip%";
  for (int i = 0; i < 4'000; ++i) path += "25";
  path += "65";
  EXPECT_TRUE(reads_as(path, "/wh/stripe", Overlooked::writing));
}

}  // namespace
}  // namespace semel::policy
