// The tail: who gets which lines, and what a slow watcher misses.
#include "telemetry/tail.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "core/encoding.h"
#include <semel/key.h>

namespace semel::telemetry {
namespace {

LogEntry request(std::string_view route, std::string_view outcome, std::uint16_t status) {
  LogEntry entry;
  entry.route = route;
  entry.outcome = outcome;
  entry.status = status;
  return entry;
}

TailFilter only(std::string TailFilter::* member, std::string value) {
  TailFilter filter;
  filter.*member = std::move(value);
  return filter;
}

// Nobody watches: nothing is made. Somebody does: a line as the log has it.
TEST(TailTest, GivesLinesToThoseWhoWatch) {
  Tail tail;
  EXPECT_FALSE(tail.watched());
  tail.offer(request("/a", "ran", 201));
  {
    const std::unique_ptr<Tail::Watcher> watcher = tail.watch({});
    EXPECT_TRUE(tail.watched());
    EXPECT_TRUE(watcher->take().lines.empty()) << "what was before is not shown";
    tail.offer(request("/a", "ran", 201));
    const Tail::Lines news = watcher->take();
    ASSERT_EQ(news.lines.size(), 1U);
    EXPECT_EQ(boost::json::parse(news.lines[0]).at("outcome").as_string(), "ran");
    EXPECT_TRUE(watcher->take().lines.empty());
  }
  EXPECT_FALSE(tail.watched());
}

// Each part of a filter narrows, and two watchers have filters of their own.
TEST(TailTest, Filters) {
  const Key key = *make_key("default", "s", "k");
  LogEntry entry = request("/a", "refused", 503);
  entry.problem = "store-unavailable";
  entry.key = &key;
  const std::string id = core::to_hex(key.id);
  EXPECT_TRUE(TailFilter{}.takes(entry));
  EXPECT_TRUE(
      (TailFilter{.route = "/a", .outcome = "refused", .status = "5xx", .key_begin = id.substr(0, 12)}).takes(entry));
  EXPECT_TRUE((TailFilter{.route = {}, .outcome = "store-unavailable", .status = "503", .key_begin = id}).takes(entry));
  EXPECT_FALSE(only(&TailFilter::route, "/b").takes(entry));
  EXPECT_FALSE(only(&TailFilter::outcome, "ran").takes(entry));
  EXPECT_FALSE(only(&TailFilter::status, "4xx").takes(entry));
  EXPECT_FALSE(only(&TailFilter::status, "500").takes(entry));
  EXPECT_FALSE(only(&TailFilter::key_begin, "00" + id).takes(entry));
  entry.key = nullptr;
  EXPECT_FALSE(only(&TailFilter::key_begin, "a").takes(entry));

  Tail tail;
  const auto all = tail.watch({});
  const auto some = tail.watch(only(&TailFilter::route, "/b"));
  tail.offer(request("/a", "ran", 200));
  tail.offer(request("/b", "ran", 200));
  EXPECT_EQ(all->take().lines.size(), 2U);
  EXPECT_EQ(some->take().lines.size(), 1U);
}

// A watcher that does not read misses lines, is told how many, and goes on.
TEST(TailTest, CountsWhatASlowWatcherMisses) {
  Tail tail;
  const auto slow = tail.watch({});
  for (std::size_t i = 0; i < Tail::lines_max + 7; ++i) tail.offer(request("/a", "ran", 200));
  const Tail::Lines news = slow->take();
  EXPECT_EQ(news.lines.size(), Tail::lines_max);
  EXPECT_EQ(news.dropped, 7U);
  tail.offer(request("/a", "ran", 200));
  EXPECT_EQ(slow->take().lines.size(), 1U);
  EXPECT_EQ(slow->take().dropped, 0U);
}

// Large lines fill the room sooner.
TEST(TailTest, BoundsBytes) {
  Tail tail;
  const auto slow = tail.watch({});
  const std::string detail(100'000, 'x');
  LogEntry entry = request("/a", "ran", 200);
  entry.detail = detail;
  for (int i = 0; i < 100; ++i) tail.offer(entry);
  const Tail::Lines news = slow->take();
  EXPECT_EQ(news.lines.size() + news.dropped, 100U);
  EXPECT_LE(news.lines.size() * detail.size(), Tail::bytes_max);
  EXPECT_GT(news.dropped, 0U);
}

// So many may watch, and no more until one leaves.
TEST(TailTest, HasSeatsForSoMany) {
  Tail tail;
  std::vector<std::unique_ptr<Tail::Watcher>> watchers;
  for (std::size_t i = 0; i < Tail::watchers_max; ++i) watchers.push_back(tail.watch({}));
  EXPECT_EQ(tail.watch({}), nullptr);
  watchers.pop_back();
  EXPECT_NE(tail.watch({}), nullptr);
}

}  // namespace
}  // namespace semel::telemetry
