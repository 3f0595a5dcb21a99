// What the contract cannot know: large answers, a full memory, scripts and connections that vanish, a server that
// stands still, damaged values, and waiting across processes.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <signal.h>

#include <boost/asio/co_spawn.hpp>
#include <gtest/gtest.h>

#include "core/encoding.h"
#include "store/redis/fixture.h"
#include "store/redis/layout.h"

namespace semel::test {
namespace {

using store::redis::record_name;
using store::redis::RespValue;

class RedisStores : public RedisTest {
 protected:
  RedisStores() { prepare(options_); }

  std::string kept(Store& store, const Key& key) {
    const Result<Claim> held = claim(store, key, 9'999);
    if (!held) return std::string(said(held));
    const auto* record = std::get_if<Held>(&*held);
    return record == nullptr || record->record.response == nullptr ? "nothing" : record->record.response->body;
  }
  // Bytes that do not compress.
  static std::string noise(std::size_t size) {
    std::string bytes;
    std::uint64_t state = 7;
    while (bytes.size() < size) {
      state = (state * 6'364'136'223'846'793'005U) + 1'442'695'040'888'963'407U;
      bytes += static_cast<char>(state >> 56U);
    }
    return bytes;
  }

  RedisServer server_;
  store::redis::RedisOptions options_ = options_for(server_);
};

// An answer over 16 KiB lies beside its record, expires with it, and is replayed byte for byte; the first one stays.
TEST_F(RedisStores, KeepLargeAnswersBesideTheRecord) {
  store::CapableStore opened = open(options_);
  Store& store = *opened.store;
  const std::string body = noise(1U << 20U);
  const Key key = key_of(1);
  const Result<Claim> claimed = claim(store, key, 5);
  ASSERT_TRUE(claimed);
  const Fence fence = std::get<Granted>(*claimed).fence;
  ASSERT_TRUE(run(context_, store.complete(key, fence, answer_of(body))));
  ASSERT_TRUE(run(context_, store.complete(key, fence, answer_of(noise(40'000)))));
  EXPECT_EQ(kept(store, key), body);
  const std::string beside = store::redis::body_name(key.id, fence.owner);
  EXPECT_LT(std::stoul(server_.text({"STRLEN", record_name(key.id)})), 200U);
  EXPECT_GT(std::stoul(server_.text({"STRLEN", beside})), 1U << 20U);
  const std::int64_t apart = std::stoll(server_.text({"PEXPIRETIME", beside}));
  EXPECT_EQ(apart, std::stoll(server_.text({"PEXPIRETIME", record_name(key.id)})) + 1);
  const auto seen = run(context_, opened.lookup->look_up(key));
  ASSERT_TRUE(seen && *seen);
  EXPECT_EQ((*seen)->record.response->body, body);
  server_.run({"DEL", beside});
  EXPECT_EQ(kept(store, key), "corrupt") << "blocked, and not run again";
}

// Memory full: nothing new is claimed, and what runs may end, also with a large answer.
TEST_F(RedisStores, EndWhatRunsWhenTheMemoryIsFull) {
  store::CapableStore opened = open(options_);
  Store& store = *opened.store;
  const Result<Claim> small = claim(store, key_of(1), 1);
  const Result<Claim> large = claim(store, key_of(2), 2);
  ASSERT_TRUE(small && large);
  server_.run({"CONFIG", "SET", "maxmemory", "1mb"});
  EXPECT_EQ(said(claim(store, key_of(3), 3)), "full");
  EXPECT_TRUE(run(context_, store.renew(key_of(1), std::get<Granted>(*small).fence, ample)));
  EXPECT_TRUE(run(context_, store.complete(key_of(1), std::get<Granted>(*small).fence, answer_of("one"))));
  const std::string body = noise(60'000);
  EXPECT_TRUE(run(context_, store.complete(key_of(2), std::get<Granted>(*large).fence, answer_of(body))));
  EXPECT_EQ(kept(store, key_of(1)), "one") << "and what ended is replayed";
  EXPECT_EQ(kept(store, key_of(2)), body);
  server_.run({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(run_once(store, key_of(3), 4), "ok");
}

// Scripts that were flushed, connections that were killed: the callers notice nothing, and nothing is lost.
TEST_F(RedisStores, SurviveFlushedScriptsAndKilledConnections) {
  store::CapableStore opened = open(options_);
  for (std::uint64_t i = 1; i <= 6; ++i) {
    if (i % 2 == 0) server_.run({"SCRIPT", "FLUSH"});
    if (i % 3 == 0) server_.run({"CLIENT", "KILL", "TYPE", "normal"});
    EXPECT_EQ(run_once(*opened.store, key_of(i), i), "ok") << i;
    EXPECT_EQ(kept(*opened.store, key_of(i)), "done");
  }
  EXPECT_EQ(lost(), 0U);
}

// While the server is away claims are refused at once; the end of a claim waits for it to come back.
TEST_F(RedisStores, WaitForTheServerWithWhatHasHappened) {
  options_.time_max = Millis{8'000};
  store::CapableStore opened = open(options_);
  const Result<Claim> claimed = claim(*opened.store, key_of(1), 1);
  ASSERT_TRUE(claimed);
  server_.crash();
  ASSERT_TRUE(eventually([&] { return !claim(*opened.store, key_of(2), 2); }));
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(said(claim(*opened.store, key_of(3), 3)), "unavailable");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(1));
  Result<void> ended;
  std::thread holder([&] {
    boost::asio::io_context context{1};
    ended = run(context, opened.store->complete(key_of(1), std::get<Granted>(*claimed).fence, answer_of("late")));
  });
  std::this_thread::sleep_for(Millis{700});
  server_.start();
  holder.join();
  EXPECT_EQ(said(ended), "ok");
  EXPECT_EQ(kept(*opened.store, key_of(1)), "late");
}

// A server that stands still: calls end in their time, and what they did is found afterwards.
TEST_F(RedisStores, AnswerInTimeWhenTheServerStandsStill) {
  options_.time_max = Millis{500};
  store::CapableStore opened = open(options_);
  ASSERT_EQ(run_once(*opened.store, key_of(1), 1), "ok");
  kill(server_.pid(), SIGSTOP);
  EXPECT_EQ(said(claim(*opened.store, key_of(2), 2)), "unavailable");
  kill(server_.pid(), SIGCONT);
  EXPECT_TRUE(eventually([&] { return run_once(*opened.store, key_of(2), 2) == "ok"; }));
  EXPECT_EQ(lost(), 0U);
}

// A server that stands still keeps its connections. Claims are refused soon, though a call may take much longer; the
// end of a claim waits.
TEST_F(RedisStores, DoNotWaitForASilentServerWithClaims) {
  options_.time_max = Millis{60'000};
  store::CapableStore opened = open(options_);
  const Result<Claim> claimed = claim(*opened.store, key_of(1), 1);
  ASSERT_TRUE(claimed);
  kill(server_.pid(), SIGSTOP);
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(said(claim(*opened.store, key_of(2), 2)), "unavailable");
  EXPECT_EQ(said(claim(*opened.store, key_of(3), 3)), "unavailable");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20));
  std::thread waking([&] {
    std::this_thread::sleep_for(Millis{300});
    kill(server_.pid(), SIGCONT);
  });
  const Fence fence = std::get<Granted>(*claimed).fence;
  EXPECT_EQ(said(run(context_, opened.store->complete(key_of(1), fence, answer_of("x")))), "ok");
  waking.join();
  EXPECT_TRUE(eventually([&] { return run_once(*opened.store, key_of(4), 4) == "ok"; }));
  EXPECT_EQ(lost(), 0U);
}

// Calls that come together are one step of the server, and each is judged by itself: of three claims of each key one is
// granted, a record that is damaged or no string blocks only its own key, and each end finds its own claim.
TEST_F(RedisStores, JudgeEachOfManyCallsByItself) {
  store::CapableStore opened = open(options_);
  constexpr std::uint64_t count = 60;
  server_.run({"SET", record_name(key_of(count + 1).id), "damaged"});
  server_.run({"RPUSH", record_name(key_of(count + 2).id), "a list"});
  std::vector<Result<Claim>> claims(3 * (count + 2), fail(Code::invalid, "not asked"));
  for (std::size_t i = 0; i < claims.size(); ++i) {
    Terms terms;
    terms.owner = i + 1;
    boost::asio::co_spawn(context_.get_executor(), opened.store->claim(key_of((i / 3) + 1), fingerprint_of(1), terms),
                          [&claims, i](const std::exception_ptr&, Result<Claim> told) { claims[i] = std::move(told); });
  }
  context_.restart();
  context_.run();
  std::vector<Result<void>> ends(claims.size(), fail(Code::invalid, "not asked"));
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const auto* granted = claims[i] ? std::get_if<Granted>(&*claims[i]) : nullptr;
    if (i / 3 >= count) {
      EXPECT_EQ(said(claims[i]), "corrupt") << i;
      continue;
    }
    ASSERT_TRUE(claims[i]) << i;
    Fence fence{.number = 1, .owner = i + 1};
    EXPECT_TRUE(granted == nullptr || granted->fence == fence);
    boost::asio::co_spawn(context_,
                          opened.store->complete(key_of((i / 3) + 1), fence, answer_of("of " + std::to_string(i))),
                          [&ends, i](const std::exception_ptr&, Result<void> told) { ends[i] = std::move(told); });
  }
  context_.restart();
  context_.run();
  for (std::size_t i = 0; i < 3 * count; ++i) {
    const bool granted = std::holds_alternative<Granted>(*claims[i]);
    EXPECT_EQ(said(ends[i]), granted ? "ok" : "fenced") << i;
    if (granted) EXPECT_EQ(kept(*opened.store, key_of((i / 3) + 1)), "of " + std::to_string(i));
  }
  EXPECT_EQ(server_.text({"ZCARD", "semel:{0}:open"}), "0");
}

// The store that has claimed a key knows its record to the byte, and only compares and sets it at the end. One that
// does not know it, and a record that was renewed or is waited for, are judged by fence: the record is the same
// afterwards.
TEST_F(RedisStores, EndTheSameWayWhetherTheyKnowTheRecordOrNot) {
  store::CapableStore here = open(options_);
  store::CapableStore there = open(options_);
  const auto ended = [&](std::uint64_t number, Store& by, const auto& meanwhile) {
    const Result<Claim> claimed = claim(*here.store, key_of(number), 77);
    if (!claimed) return std::string("no claim");
    const Granted& granted = std::get<Granted>(*claimed);
    Terms terms;
    terms.owner = 77;
    const std::string known = store::redis::claimed_value(key_of(number), fingerprint_of(1), granted, terms);
    EXPECT_EQ(server_.run({"GET", record_name(key_of(number).id)}).text, known);
    meanwhile(key_of(number), granted.fence);
    EXPECT_TRUE(run(context_, by.complete(key_of(number), granted.fence, answer_of("paid"))));
    EXPECT_EQ(kept(*here.store, key_of(number)), "paid");
    EXPECT_EQ(server_.text({"PEXPIRETIME", record_name(key_of(number).id)}),
              std::to_string(granted.expires_at.time_since_epoch().count() - 1));
    std::string value = server_.run({"GET", record_name(key_of(number).id)}).text;
    return value.substr(0, 2) + value.substr(3, 21) + value.substr(48, known.size() - 48);  // without times
  };
  const auto nothing = [](const Key&, const Fence&) {};
  const std::string usual = ended(1, *here.store, nothing);
  EXPECT_EQ(usual.substr(0, 2), "\1d");
  EXPECT_EQ(ended(2, *there.store, nothing), usual) << "by one that did not claim it";
  const auto renew = [&](const Key& key, const Fence& fence) {
    EXPECT_TRUE(run(context_, here.store->renew(key, fence, Millis{60'000})));
  };
  EXPECT_EQ(ended(3, *here.store, renew), usual) << "renewed meanwhile";
  const auto wait_for = [&](const Key& key, const Fence&) { server_.run({"SETRANGE", record_name(key.id), "2", "1"}); };
  EXPECT_EQ(ended(4, *here.store, wait_for), usual) << "somebody waits";
  EXPECT_EQ(server_.text({"ZCARD", "semel:{0}:open"}), "0");
}

// An end that comes too late, or finds something else than it has claimed, changes nothing: not a byte, nor its expiry.
TEST_F(RedisStores, LeaveWhatIsNotTheirsAsItIs) {
  store::CapableStore opened = open(options_);
  const auto end_after = [&](std::uint64_t number, Millis lease, const auto& meanwhile) {
    Terms terms;
    terms.owner = 77;
    terms.lease = lease;
    const Key key = key_of(number);
    const Result<Claim> claimed = run(context_, opened.store->claim(key, fingerprint_of(1), terms));
    const Fence fence = std::get<Granted>(*claimed).fence;
    meanwhile(record_name(key.id));
    const std::string before = server_.run({"GET", record_name(key.id)}).text;
    const std::string expiry = server_.text({"PEXPIRETIME", record_name(key.id)});
    const Result<void> ended = run(context_, opened.store->complete(key, fence, answer_of("paid")));
    EXPECT_EQ(server_.run({"GET", record_name(key.id)}).text, before) << number;
    EXPECT_EQ(server_.text({"PEXPIRETIME", record_name(key.id)}), expiry) << number;
    return std::string(said(ended));
  };
  const auto wait = [](const std::string&) { std::this_thread::sleep_for(Millis{30}); };
  EXPECT_EQ(end_after(1, Millis{10}, wait), "fenced") << "its lease has lapsed";
  const auto taken = [&](const std::string& name) { server_.run({"SETRANGE", name, "16", "somebody"}); };
  EXPECT_EQ(end_after(2, Millis{60'000}, taken), "fenced") << "another owner has it";
  const auto spoilt = [&](const std::string& name) { server_.run({"SET", name, "spoilt", "KEEPTTL"}); };
  EXPECT_EQ(end_after(3, Millis{60'000}, spoilt), "corrupt");
  const auto gone = [&](const std::string& name) { server_.run({"DEL", name}); };
  EXPECT_EQ(end_after(4, Millis{60'000}, gone), "fenced") << "it is gone, and does not come back";
}

// A value that is not ours, or was cut, blocks its key.
TEST_F(RedisStores, BlockKeysWhoseRecordsAreDamaged) {
  store::CapableStore opened = open(options_);
  const Key key = key_of(1);
  ASSERT_EQ(run_once(*opened.store, key, 1), "ok");
  const std::string whole = server_.run({"GET", record_name(key.id)}).text;
  for (const std::string& wrong :
       {std::string("x"), whole.substr(0, 90), whole.substr(0, whole.size() - 1),
        std::string(1, '\2') + whole.substr(1), whole.substr(0, 8) + whole.substr(9) + "x"}) {
    server_.run({"SET", record_name(key.id), wrong});
    EXPECT_EQ(said(claim(*opened.store, key, 2)), "corrupt");
  }
  server_.run({"SET", record_name(key_of(2).id), whole});
  EXPECT_EQ(said(claim(*opened.store, key_of(2), 2)), "corrupt") << "a record that was copied under another key";
}

// Somebody who waits in another process is told when the key ends.
TEST_F(RedisStores, TellThoseWhoWaitElsewhere) {
  store::CapableStore here = open(options_);
  store::CapableStore there = open(options_);
  std::atomic<int> told = 0;
  const Key key = key_of(1);
  const Result<Claim> claimed = claim(*here.store, key, 1);
  ASSERT_TRUE(claimed);
  there.endings->watch([&](const Digest& id) { told += id == key.id ? 1 : 1'000; });
  there.endings->expect(key);
  ASSERT_TRUE(eventually([&] { return server_.run({"GET", record_name(key.id)}).text.at(2) == '1'; }));
  EXPECT_EQ(told, 0);
  ASSERT_TRUE(run(context_, here.store->complete(key, std::get<Granted>(*claimed).fence, answer_of("x"))));
  EXPECT_TRUE(eventually([&] { return told == 1; })) << told;
  there.endings->expect(key);
  EXPECT_TRUE(eventually([&] { return told == 2; })) << "it has ended already";
  there.endings->expect(key_of(2));
  EXPECT_TRUE(eventually([&] { return told == 1'002; })) << "nobody runs it";
}

// The index holds what is running or unknown, and nothing that has expired stays in it.
TEST_F(RedisStores, KeepTheIndexSmall) {
  store::CapableStore opened = open(options_);
  for (std::uint64_t i = 1; i <= 10; ++i) ASSERT_EQ(run_once(*opened.store, key_of(i), i), "ok");
  EXPECT_EQ(server_.text({"ZCARD", "semel:{0}:open"}), "0");
  Terms brief;
  brief.ttl = brief.lease = Millis{50};
  for (std::uint64_t i = 11; i <= 320; ++i) {
    brief.owner = i;
    ASSERT_TRUE(run(context_, opened.store->claim(key_of(i), fingerprint_of(1), brief)));
  }
  ASSERT_TRUE(claim(*opened.store, key_of(400), 400));
  std::this_thread::sleep_for(Millis{60});
  EXPECT_EQ(server_.text({"ZCARD", "semel:{0}:open"}), "311");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(run(context_, opened.store->sweep(1'000)), 0U);
  EXPECT_EQ(server_.text({"ZCARD", "semel:{0}:open"}), "1");
}

// What `semel check` and docs/redis.md say that a finished key takes.
TEST_F(RedisStores, TakeTheMemoryThatTheManualSays) {
  store::CapableStore opened = open(options_);
  const auto used = [&] {
    const std::string info = server_.text({"INFO", "memory"});
    return std::stoull(info.substr(info.find("used_memory:") + 12));
  };
  ASSERT_EQ(run_once(*opened.store, key_of(9'999), 1), "ok");
  const std::uint64_t before = used();
  constexpr std::uint64_t count = 1'024;
  for (std::uint64_t i = 1; i <= count; ++i) {
    ASSERT_EQ(run_once(*opened.store, key_of(i), i, noise(512)), "ok");
  }
  const std::uint64_t each = (used() - before) / count;
  RecordProperty("bytes", std::to_string(each));
  EXPECT_LT(each, 1'160U);
  EXPECT_GT(each, 960U);
}

}  // namespace
}  // namespace semel::test
