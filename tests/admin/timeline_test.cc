// The timeline of a key and the tail, without a network: what is put together, in which order, and what ends a stream.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "admin/caller.h"
#include "admin/handlers.h"
#include "admin/sources.h"
#include "config/config.h"
#include "core/encoding.h"
#include "gateway/act_note.h"
#include "gateway/plan.h"
#include "policy/request_view.h"
#include "store/capable_store.h"
#include "store/history.h"
#include "store/memory.h"
#include "support/fake_transaction.h"
#include "support/run.h"
#include "support/virtual_clock.h"
#include "telemetry/sighting.h"
#include "telemetry/sighting_rows.h"
#include "telemetry/tail.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/problem.h>
#include <semel/response.h>
#include <semel/store.h>

namespace semel::admin {
namespace {

using namespace std::chrono_literals;

class TimelineTest : public testing::Test {
 protected:
  Fence claim() {
    const Terms terms{.lease = 1s, .ttl = 24h, .lapsed = Terms::Lapsed::taken_over, .owner = 7};
    const Fingerprint none{};
    const Result<Claim> claimed = test::run(context, opened.store->claim(key, none, terms));
    return std::get<Granted>(*claimed).fence;
  }

  telemetry::Sighting seen(telemetry::Ending ending, std::uint64_t fence) {
    return {.id = key.id, .at = clock.now(), .fence = fence, .ending = ending, .client = "10.0.0.1"};
  }
  telemetry::Sighting attempt(telemetry::Ending ending, std::uint64_t fence) {
    telemetry::Sighting made = seen(ending, fence);
    made.upstream = "app";
    made.upstream_time = 2ms;
    return made;
  }
  void keep(const std::vector<telemetry::Sighting>& sightings, std::uint64_t dropped = 0) {
    telemetry::SightingRows rows("n:1");
    for (const telemetry::Sighting& each : sightings) rows.add(each);
    rows.add_dropped(dropped);
    auto made = rows.take(clock.now(), [](const Digest& id) { return id; });
    ASSERT_TRUE(test::run(context, opened.history->append(std::move(made))));
  }

  Response ask(std::string_view id) {
    const std::string target = "/v1/keys/" + std::string(id) + "/timeline";
    policy::RequestView request;
    request.method = "GET";
    policy::set_target(request, target);
    return test::run(context, show_timeline(&sources, request, {}));
  }
  boost::json::object timeline() {
    const Response answer = ask(core::to_hex(key.id));
    EXPECT_EQ(answer.status, 200) << answer.body;
    return boost::json::parse(answer.body).as_object();
  }
  static std::string names(const boost::json::object& timeline) {
    std::string all;
    for (const boost::json::value& event : timeline.at("events").as_array()) {
      all.append(event.at("event").as_string()).append(" ");
    }
    return all;
  }
  static Task<bool> noted(const Sources* sources, Digest id, gateway::ActNote note) {
    co_await gateway::note_act(sources->history, id, std::move(note), sources->now());
    co_return true;
  }
  static Task<std::vector<gateway::UpstreamState>> none() { co_return std::vector<gateway::UpstreamState>(); }
  static Task<void> nothing() { co_return; }

  boost::asio::io_context context{1};
  test::VirtualClock clock;
  store::CapableStore opened = store::make_capable_memory_store(clock);
  telemetry::Tail tail;
  bool draining = false;
  Sources sources{.store = *opened.store,
                  .reopening = opened.reopening,
                  .config = [] { return std::make_shared<const config::Config>(); },
                  .metrics = [] { return std::string(); },
                  .upstreams = [] { return none(); },
                  .draining = [this] { return draining; },
                  .forget = [](const Key&) { return nothing(); },
                  .desk = opened.desk,
                  .audit = opened.audit,
                  .now = [this] { return clock.now(); },
                  .history = opened.history,
                  .tail = &tail,
                  .clock = &clock};
  const Key key = *make_key("default", "s", "k");
};

// Two attempts with an act between them, and repeats: one story in the order of time.
TEST_F(TimelineTest, TellsTheWholeStory) {
  claim();
  telemetry::Sighting lost = attempt(telemetry::Ending::unknown, 1);
  lost.cause = telemetry::Cause::timeout;
  lost.shape = {.bits = 0x0001'0000'0100'0003};
  keep({lost});
  clock.advance(1s);
  telemetry::Sighting other = seen(telemetry::Ending::refused, 0);
  other.problem = ProblemType::key_reused;
  other.shape = {.bits = 0x0001'0000'0100'0005};
  keep({other});
  clock.advance(1s);
  gateway::ActNote note{
      .act = "resolve as not-done", .who = "alice", .role = "operator", .reason = "why", .audit = 3, .fence = 1};
  test::run(context, noted(&sources, key.id, std::move(note)));
  clock.advance(1s);
  keep({attempt(telemetry::Ending::ran, 2), seen(telemetry::Ending::replayed, 2)});

  const boost::json::object told = timeline();
  EXPECT_EQ(names(told), "claimed attempt outcome repeats act claimed attempt repeats outcome ");
  const boost::json::array& events = told.at("events").as_array();
  EXPECT_EQ(events[1].at("node").as_string(), "n:1");
  EXPECT_EQ(events[2].at("outcome").as_string(), "unknown");
  EXPECT_EQ(events[2].at("cause").as_string(), "timeout");
  EXPECT_EQ(events[3].at("callers").at(0).at("differs").as_string(), "body");
  EXPECT_EQ(events[4].at("reason").as_string(), "why");
  EXPECT_EQ(told.at("key").at("state").as_string(), "unknown");
  EXPECT_FALSE(told.at("partial").as_bool());
  EXPECT_EQ(boost::json::serialize(events).find("shape"), std::string::npos);
}

// An act and the run that it allowed may share a millisecond, and a store tells their order by chance then.
TEST_F(TimelineTest, ToldByFencesWithinAMillisecond) {
  claim();
  clock.advance(10ms);
  gateway::ActNote note{
      .act = "resolve as not-done", .who = "alice", .role = "operator", .reason = "why", .audit = 3, .fence = 1};
  test::run(context, noted(&sources, key.id, std::move(note)));
  telemetry::SightingRows rows("n:1");
  telemetry::Sighting ran = attempt(telemetry::Ending::ran, 2);
  ran.upstream_time = 200us;
  rows.add(ran);
  rows.add(seen(telemetry::Ending::replayed, 2));
  auto made = rows.take(clock.now(), [](const Digest& id) { return id; });
  std::uint64_t number = 0;
  for (store::HistoryRow& row : made) row.number = ++number;  // before the act, whose number is drawn
  ASSERT_TRUE(test::run(context, opened.history->append(std::move(made))));

  EXPECT_EQ(names(timeline()), "claimed act claimed attempt outcome repeats ");
}

// A gateway that died has written nothing: the record tells of the claim, and later that nobody knows its end.
TEST_F(TimelineTest, TellsWhatTheRecordKnows) {
  claim();
  EXPECT_EQ(names(timeline()), "claimed ");
  clock.advance(5s);
  const boost::json::object told = timeline();
  EXPECT_EQ(names(told), "claimed outcome ");
  EXPECT_EQ(told.at("events").at(1).at("cause").as_string(), "no word");
}

// What was dropped is counted, and the timeline says that it is partial.
TEST_F(TimelineTest, SaysThatItIsPartial) {
  claim();
  keep({attempt(telemetry::Ending::ran, 1)}, 12);
  const boost::json::object told = timeline();
  EXPECT_EQ(told.at("dropped").as_int64(), 12);
  EXPECT_TRUE(told.at("partial").as_bool());
}

// A key that has gone has its history by the whole id only; one that never was has nothing.
TEST_F(TimelineTest, FindsKeysThatAreGone) {
  EXPECT_EQ(ask(core::to_hex(key.id)).status, 404);
  keep({attempt(telemetry::Ending::ran, 1)});
  const boost::json::object told = timeline();
  EXPECT_EQ(names(told), "claimed attempt outcome ");
  EXPECT_FALSE(told.contains("key"));
  EXPECT_EQ(ask(core::to_hex(key.id).substr(0, 12)).status, 404);
  EXPECT_EQ(ask("xyz").status, 400);
  sources.history = nullptr;
  EXPECT_EQ(ask(core::to_hex(key.id)).status, 501);
}

class TailStreamTest : public TimelineTest {
 protected:
  static Task<void> stream(const Sources* sources, test::FakeTransaction* client, std::optional<std::uint16_t>* told,
                           bool* ended) {
    policy::RequestView request;
    request.method = client->head().method();
    policy::set_target(request, client->head().target());
    const Caller caller;
    const std::optional<Response> refusal = co_await stream_tail(sources, request, caller, client);
    if (refusal) *told = refusal->status;
    *ended = true;
  }
  void start(test::FakeTransaction& client) {
    boost::asio::co_spawn(context, stream(&sources, &client, &told, &ended), boost::asio::detached);
    settle();
  }
  void settle() {
    context.restart();
    context.poll();
  }

  std::optional<std::uint16_t> told;
  bool ended = false;
};

// Lines go out as events, a quiet stream gives a sign of life, and draining ends it.
TEST_F(TailStreamTest, StreamsUntilTheGatewayDrains) {
  test::FakeTransaction client(context.get_executor(), "GET", "/v1/tail?outcome=ran");
  start(client);
  EXPECT_TRUE(tail.watched());
  telemetry::LogEntry entry;
  entry.outcome = "ran";
  tail.offer(entry);
  entry.outcome = "replayed";
  tail.offer(entry);
  clock.advance(100ms);
  settle();
  const std::string& body = client.received().body;
  EXPECT_NE(body.find("data: {"), std::string::npos) << body;
  EXPECT_EQ(body.find("replayed"), std::string::npos) << body;
  const std::size_t before = body.size();
  for (int tenths = 0; tenths < 110; ++tenths) {
    clock.advance(100ms);
    settle();
  }
  EXPECT_GT(client.received().body.size(), before) << "a sign of life";
  EXPECT_FALSE(ended);
  draining = true;
  clock.advance(100ms);
  settle();
  EXPECT_TRUE(ended);
  EXPECT_TRUE(client.received().ended);
  EXPECT_FALSE(tail.watched());
}

// A reader that has left is noticed, and its seat is free again.
TEST_F(TailStreamTest, EndsWhenTheReaderLeaves) {
  test::FakeTransaction client(context.get_executor(), "GET", "/v1/tail");
  start(client);
  client.replying_fails = http::Failure::broken;
  tail.offer({});
  clock.advance(100ms);
  settle();
  EXPECT_TRUE(ended);
  EXPECT_TRUE(client.closes());
  EXPECT_FALSE(tail.watched());
}

// A slow reader is told how many lines it missed.
TEST_F(TailStreamTest, TellsWhatWasDropped) {
  test::FakeTransaction client(context.get_executor(), "GET", "/v1/tail");
  start(client);
  for (std::size_t i = 0; i < telemetry::Tail::lines_max + 3; ++i) tail.offer({});
  clock.advance(100ms);
  settle();
  EXPECT_NE(client.received().body.find("event: dropped\ndata: {\"lines\":3}\n\n"), std::string::npos);
  draining = true;
  clock.advance(100ms);
  settle();
}

// What cannot be watched is refused with its reason.
TEST_F(TailStreamTest, RefusesBadFilters) {
  for (const std::string_view query : {"?status=5", "?status=abc", "?key=XYZ"}) {
    test::FakeTransaction client(context.get_executor(), "GET", "/v1/tail" + std::string(query));
    told.reset();
    start(client);
    EXPECT_EQ(told, 400) << query;
  }
  std::vector<std::unique_ptr<telemetry::Tail::Watcher>> others;
  while (auto watcher = tail.watch({})) others.push_back(std::move(watcher));
  test::FakeTransaction client(context.get_executor(), "GET", "/v1/tail");
  start(client);
  EXPECT_EQ(told, 503);
}

}  // namespace
}  // namespace semel::admin
