// Keys of providers: what is fetched, how often at most, and how long it is kept. The documents come from a server of
// this test's own, on the loopback.
#include "gateway/key_cache.h"

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include "support/run.h"
#include "support/virtual_clock.h"
#include "webhook/fetched_keys.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::gateway {
namespace {

namespace asio = boost::asio;
using Acceptor = asio::basic_socket_acceptor<asio::ip::tcp, Executor>;
using Socket = asio::basic_stream_socket<asio::ip::tcp, Executor>;

constexpr auto quietly = asio::as_tuple(asio::use_awaitable_t<Executor>());
constexpr Millis minute{60'000};
constexpr Millis hour{3'600'000};

std::size_t length_of(std::string_view head) {
  constexpr std::string_view name = "Content-Length: ";
  const std::size_t at = head.find(name);
  std::size_t length = 0;
  if (at != std::string_view::npos) std::from_chars(head.data() + at + name.size(), head.data() + head.size(), length);
  return length;
}

// Answers every request with `status` and `document`, and remembers what was asked.
class Shelf {
 public:
  explicit Shelf(Executor executor) : acceptor_(executor, asio::ip::tcp::endpoint(asio::ip::address_v4::any(), 0)) {
    asio::co_spawn(executor, serve(), asio::detached);
  }

  [[nodiscard]] std::string url(std::string_view path) const {
    return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()) + std::string(path);
  }

  std::string status = "200 OK";
  std::string document = "first";
  std::vector<std::string> asked;  // the start line, a space, and the body

 private:
  Task<void> serve() {
    for (;;) {
      auto [error, socket] = co_await acceptor_.async_accept(quietly);
      if (error) co_return;
      co_await answer(std::move(socket));
    }
  }

  Task<void> answer(Socket socket) {
    std::string text;
    const auto [error, head] = co_await asio::async_read_until(socket, asio::dynamic_buffer(text), "\r\n\r\n", quietly);
    if (error) co_return;
    const std::size_t whole = head + length_of(text);
    if (whole > text.size()) {
      auto rest = asio::dynamic_buffer(text);
      co_await asio::async_read(socket, rest, asio::transfer_exactly(whole - text.size()), quietly);
    }
    asked.push_back(text.substr(0, text.find(" HTTP/")) + " " + text.substr(head));
    const std::string reply = "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(document.size()) +
                              "\r\nConnection: close\r\n\r\n" + document;
    co_await asio::async_write(socket, asio::buffer(reply), quietly);
  }

  Acceptor acceptor_;
};

class KeyCacheTest : public testing::Test {
 protected:
  bool fetch(const std::string& path, std::string_view webhook = "w") {
    return test::run(context_, cache_.fetch(webhook::Wanted{.url = shelf_.url(path)}, std::string(webhook)));
  }
  std::optional<std::string> found(const std::string& path) {
    const auto text = cache_.find(shelf_.url(path));
    return text ? std::optional<std::string>(*text) : std::nullopt;
  }

  test::VirtualClock clock_;
  asio::io_context context_{1};
  Shelf shelf_{context_.get_executor()};
  KeyCache cache_{clock_, context_.get_executor()};
};

// What was fetched is found, and nothing else is.
TEST_F(KeyCacheTest, FindsWhatWasFetched) {
  EXPECT_EQ(found("/key"), std::nullopt);
  EXPECT_TRUE(fetch("/key"));
  EXPECT_EQ(found("/key"), "first");
  EXPECT_EQ(found("/other"), std::nullopt);
  EXPECT_EQ(shelf_.asked, std::vector<std::string>{"GET /key "});
}

// An hour; then it has to be fetched again before anybody is believed.
TEST_F(KeyCacheTest, KeepsADocumentForAnHour) {
  EXPECT_TRUE(fetch("/key"));
  clock_.advance(hour - Millis{1});
  EXPECT_EQ(found("/key"), "first");
  clock_.advance(Millis{1});
  EXPECT_EQ(found("/key"), std::nullopt);
  shelf_.document = "second";
  EXPECT_TRUE(fetch("/key"));
  EXPECT_EQ(found("/key"), "second");
}

// Forged deliveries cannot make it fetch the same document over and over: once a minute is the most.
TEST_F(KeyCacheTest, FetchesADocumentOnceAMinute) {
  EXPECT_TRUE(fetch("/key"));
  shelf_.document = "second";
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(fetch("/key"));
  clock_.advance(minute - Millis{1});
  EXPECT_FALSE(fetch("/key"));
  EXPECT_EQ(found("/key"), "first");
  EXPECT_EQ(shelf_.asked.size(), 1U);
  clock_.advance(Millis{1});
  EXPECT_TRUE(fetch("/key"));
  EXPECT_EQ(found("/key"), "second");
}

// Ten fetches a minute of one host and one webhook, whether they succeed or not; the next minute has ten of its own,
// and so has every other webhook.
TEST_F(KeyCacheTest, LetsAWebhookFetchTenDocumentsAMinuteOfAHost) {
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(fetch("/good" + std::to_string(i))) << i;
  shelf_.status = "500 Broken";
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(fetch("/bad" + std::to_string(i))) << i;
  EXPECT_EQ(shelf_.asked.size(), 10U);
  shelf_.status = "200 OK";
  EXPECT_FALSE(fetch("/more"));
  EXPECT_TRUE(fetch("/more", "another webhook"));
  clock_.advance(minute);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(fetch("/next" + std::to_string(i)), i < 10) << i;
  EXPECT_EQ(shelf_.asked.size(), 21U);
}

// Thirty of all hosts together: a stranger may be able to name many.
TEST_F(KeyCacheTest, LetsAWebhookFetchThirtyDocumentsAMinute) {
  const std::string rest = shelf_.url("/").substr(std::string_view("http://127.0.0.1").size());
  int fetched = 0;
  for (int i = 0; i < 40; ++i) {
    const std::string host = "http://127.0.0." + std::to_string(1 + i % 8);
    if (test::run(context_, cache_.fetch(webhook::Wanted{.url = host + rest + std::to_string(i)}, "w"))) ++fetched;
  }
  EXPECT_EQ(fetched, 30);
}

// What has verified a delivery stays, however many documents strangers name; theirs push out only each other.
TEST_F(KeyCacheTest, KeepsKnownDocumentsWhateverStrangersName) {
  EXPECT_TRUE(fetch("/known"));
  cache_.confirm(shelf_.url("/known"));
  for (int i = 0; i < 40; ++i) {
    if (i % 10 == 0) clock_.advance(minute);
    EXPECT_TRUE(fetch("/stranger" + std::to_string(i))) << i;
  }
  EXPECT_EQ(found("/known"), "first");
  EXPECT_EQ(found("/stranger39"), "first");
  EXPECT_EQ(found("/stranger0"), std::nullopt);
  EXPECT_EQ(cache_.size(), 9U);
}

// A known document is fetched anew while it is used, before its hour is over and beside what strangers use up.
TEST_F(KeyCacheTest, RenewsKnownDocumentsBeforeTheyAgeOut) {
  EXPECT_TRUE(fetch("/known"));
  cache_.confirm(shelf_.url("/known"));
  clock_.advance(hour - 10 * minute);
  for (int i = 0; i < 20; ++i) (void)fetch("/stranger" + std::to_string(i));
  shelf_.document = "second";
  const std::size_t asked = shelf_.asked.size();
  cache_.confirm(shelf_.url("/known"));
  cache_.confirm(shelf_.url("/known"));
  context_.restart();
  while (found("/known") != "second" && context_.run_one() > 0) {
  }
  EXPECT_EQ(shelf_.asked.size(), asked + 1);
  clock_.advance(hour - minute);
  EXPECT_EQ(found("/known"), "second");
}

// An address that gave nothing is left alone for a second, then for twice as long each time, up to a minute.
TEST_F(KeyCacheTest, RemembersWhatGaveNothing) {
  shelf_.status = "404 Gone";
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(fetch("/nothing"));
  EXPECT_EQ(shelf_.asked.size(), 1U);
  for (int i = 0; i < 60; ++i) {
    clock_.advance(Millis{1'000});
    EXPECT_FALSE(fetch("/nothing"));
  }
  EXPECT_EQ(shelf_.asked.size(), 6U);  // after 1, 3, 7, 15 and 31 seconds
  shelf_.status = "200 OK";
  EXPECT_TRUE(fetch("/other"));
  clock_.advance(minute);
  EXPECT_TRUE(fetch("/nothing"));
}

// Deliveries that come together and want the same document share one fetch.
TEST_F(KeyCacheTest, FetchesOnceForAllWhoWait) {
  int got = 0;
  const auto one = [](KeyCache* cache, std::string url, int* count) -> Task<void> {
    webhook::Wanted wanted{.url = std::move(url)};
    const bool fetched = co_await cache->fetch(std::move(wanted), "w");
    if (fetched) ++*count;
  };
  for (int i = 0; i < 50; ++i) {
    asio::co_spawn(context_.get_executor(), one(&cache_, shelf_.url("/key"), &got), asio::detached);
  }
  while (got < 50 && context_.run_one() > 0) {
  }
  EXPECT_EQ(got, 50);
  EXPECT_EQ(shelf_.asked.size(), 1U);
}

// A document of any size would be memory that a stranger fills.
TEST_F(KeyCacheTest, RefusesLargeDocuments) {
  shelf_.document = std::string(64 * 1024 + 1, 'x');
  EXPECT_FALSE(fetch("/key"));
  EXPECT_EQ(cache_.size(), 0U);
}

// A server that fails changes nothing: the document that there is stays, for its hour.
TEST_F(KeyCacheTest, KeepsWhatItHasWhenAFetchFails) {
  EXPECT_TRUE(fetch("/key"));
  clock_.advance(minute);
  shelf_.status = "404 Gone";
  shelf_.document = "no key";
  EXPECT_FALSE(fetch("/key"));
  EXPECT_EQ(found("/key"), "first");
  clock_.advance(hour - minute);
  EXPECT_EQ(found("/key"), std::nullopt);
}

// Keys of an issuer are still there when nobody can fetch them anew, but only for those who ask for aged ones.
TEST_F(KeyCacheTest, HasAnAgedDocumentForAsLongAsItMayBeUsed) {
  const webhook::Wanted wanted{.url = shelf_.url("/keys"), .usable_for = 24 * hour};
  EXPECT_TRUE(test::run(context_, cache_.fetch(wanted, "[jwt]")));
  clock_.advance(hour);
  shelf_.status = "500 Gone";
  EXPECT_FALSE(test::run(context_, cache_.fetch(wanted, "[jwt]")));
  EXPECT_EQ(found("/keys"), std::nullopt);
  EXPECT_EQ(cache_.find_aged(wanted.url), "first");
  clock_.advance(23 * hour - Millis{1});
  EXPECT_EQ(cache_.find_aged(wanted.url), "first");
  clock_.advance(Millis{1});
  EXPECT_EQ(cache_.find_aged(wanted.url), std::nullopt);
  shelf_.status = "200 OK";
  EXPECT_TRUE(fetch("/of-a-webhook"));
  clock_.advance(hour);
  EXPECT_EQ(cache_.find_aged(shelf_.url("/of-a-webhook")), std::nullopt);
}

// Nobody listens: nothing is found, and whoever asked is told so.
TEST_F(KeyCacheTest, SaysWhenNobodyAnswers) {
  webhook::Wanted wanted{.url = "http://127.0.0.1:1/key"};
  EXPECT_FALSE(test::run(context_, cache_.fetch(wanted, "w")));
  EXPECT_EQ(cache_.find(wanted.url), std::nullopt);
}

// A document that is asked for with a body is kept under its own name: one address may hand out many keys.
TEST_F(KeyCacheTest, KeepsDocumentsUnderTheirNames) {
  for (const char* name : {"key-1", "key-2"}) {
    shelf_.document = name;
    webhook::Wanted wanted{.url = shelf_.url("/keys"), .body = std::string("{\"id\":\"") + name + "\"}", .name = name};
    EXPECT_TRUE(test::run(context_, cache_.fetch(std::move(wanted), "w")));
  }
  EXPECT_EQ(cache_.find("key-1"), "key-1");
  EXPECT_EQ(cache_.find("key-2"), "key-2");
  EXPECT_EQ(found("/keys"), std::nullopt);
  const std::vector<std::string> asked{R"(POST /keys {"id":"key-1"})", R"(POST /keys {"id":"key-2"})"};
  EXPECT_EQ(shelf_.asked, asked);
}

}  // namespace
}  // namespace semel::gateway
