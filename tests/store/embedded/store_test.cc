// What only the embedded store can get wrong: its time, its room, its records on disk, its callers' io_contexts.
#include "store/embedded/store.h"

#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include "store/capable_store.h"
#include "store/embedded/fixture.h"
#include "support/run.h"

namespace semel::test {
namespace {

namespace fs = std::filesystem;

using EmbeddedStore = EmbeddedTest;

constexpr Millis minute{60'000};

// Goal: a wall clock that was set back while the store was closed revives no lease.
TEST_F(EmbeddedStore, TimeDoesNotGoBackOverAReopen) {
  open();
  const Fence fence = take(key(1), {.lease = Millis{500}});
  clock_.advance(Millis{499});
  take(key(2));  // a commit, so that the store knows the time
  close();
  clock_.advance(-10 * minute);
  open();
  EXPECT_EQ(look(key(1)).record.state, Record::State::running);
  EXPECT_EQ(look(key(1)).lease_left, Millis{1});
  clock_.advance(Millis{1});
  EXPECT_EQ(look(key(1)).record.state, Record::State::unknown);
  EXPECT_EQ(complete(key(1), fence, response("late")).error().code, Code::fenced);
}

// Goal: a wall clock that was set back puts off no expiry either, however often the store is opened.
TEST_F(EmbeddedStore, ExpiryIsNotPutOffByAClockSetBack) {
  open();
  finish(key(1), "short", {.ttl = minute});
  for (int i = 0; i < 6; ++i) {
    close();
    clock_.advance(-minute);
    open();
    clock_.advance(minute / 6);
    finish(key(100 + static_cast<std::uint64_t>(i)), "a commit");
  }
  EXPECT_EQ(take(key(1)).number, 1U) << "a minute has passed, ten seconds at a time";
}

// Goal: a glance tells a key that nobody has from one that somebody has, had for a while, or gave back.
TEST_F(EmbeddedStore, AGlanceSeesWhatIsFree) {
  Result<store::CapableStore> opened = store::embedded::open_with_keys(clock_, options_, {});
  ASSERT_TRUE(opened) << opened.error().detail;
  store_ = std::move(opened->store);
  store::Glance& glance = *opened->glance;
  EXPECT_TRUE(glance.surely_free(key(1)));
  const Fence fence = take(key(1), {.ttl = minute});
  EXPECT_FALSE(glance.surely_free(key(1)));
  ASSERT_TRUE(run(store_->release(key(1), fence)));
  EXPECT_TRUE(glance.surely_free(key(1)));
  finish(key(2), "kept", {.ttl = minute});
  EXPECT_FALSE(glance.surely_free(key(2)));
  clock_.advance(minute);
  EXPECT_TRUE(glance.surely_free(key(2)));
}

// Goal: without the marker's exact time, the mark among the records still holds time to within its second.
TEST_F(EmbeddedStore, TheTimeMarkIsAtMostASecondOld) {
  open();
  for (int i = 0; i < 5; ++i) {
    clock_.advance(Millis{700});
    take(key(static_cast<std::uint64_t>(i)), {.lease = Millis{1'000}});
  }
  close();
  fs::remove(mark());
  clock_.advance(-minute);
  open();
  EXPECT_EQ(look(key(1)).record.state, Record::State::unknown) << "its lease lapsed 1100 ms before the last commit";
}

// Goal: below the floor nothing new is claimed and the message says why; what runs may still end, and replays work.
TEST_F(EmbeddedStore, GrantsNoClaimBelowTheFreeSpaceFloor) {
  open();
  finish(key(1), "kept");
  const Fence running = take(key(2));
  const Fence freed = take(key(3));
  close();
  options_.free_bytes_min = UINT64_MAX;
  open();
  for (int i = 0; i < 2; ++i) {
    const Result<Claim> refused = claim(key(4), {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::full);
    EXPECT_NE(refused.error().detail.find("bytes are free"), std::string::npos) << refused.error().detail;
  }
  EXPECT_EQ(look(key(1)).record.response->body, "kept");
  EXPECT_TRUE(renew(key(2), running, minute));
  EXPECT_TRUE(complete(key(2), running, response("ended")));
  EXPECT_TRUE(run(context_, store_->release(key(3), freed)));
  EXPECT_EQ(claim(key(3), {}).error().code, Code::full) << "nothing was claimed";
  close();
  options_.free_bytes_min = 0;
  open();
  EXPECT_EQ(take(key(4)).number, 1U);
  EXPECT_EQ(look(key(2)).record.response->body, "ended");
}

// Goal: a damaged record blocks its own key for good, names itself without naming the key, and harms no other.
TEST_F(EmbeddedStore, ACorruptRecordBlocksItsKeyOnly) {
  open();
  finish(key(1), "damaged", {.ttl = minute});
  finish(key(2), "whole");
  close();
  with_engine({}, [](const Engine& engine) {
    const Digest id = key(1).id;
    const rocksdb::Slice where(reinterpret_cast<const char*>(id.data()), id.size());
    std::string bytes;
    ASSERT_TRUE(engine.db.Get({}, engine.records, where, &bytes).ok());
    bytes[bytes.size() / 2] ^= 1;
    ASSERT_TRUE(engine.db.Put({}, engine.records, where, bytes).ok());
  });
  open();
  for (const Terms::Lapsed lapsed : {Terms::Lapsed::stands, Terms::Lapsed::taken_over}) {
    const Result<Claim> blocked = claim(key(1), {.lapsed = lapsed});
    ASSERT_FALSE(blocked);
    EXPECT_EQ(blocked.error().code, Code::corrupt);
    EXPECT_NE(blocked.error().detail.find("record "), std::string::npos) << blocked.error().detail;
  }
  EXPECT_EQ(complete(key(1), {.number = 1, .owner = 1}, response("never")).error().code, Code::corrupt);
  EXPECT_EQ(look(key(2)).record.response->body, "whole");
  EXPECT_EQ(take(key(3)).number, 1U);
  clock_.advance(minute);
  EXPECT_EQ(sweep(100), 0U);
  EXPECT_EQ(claim(key(1), {}).error().code, Code::corrupt) << "sweeping must not free it";
}

// Goal: large bodies come back byte for byte, and take less room than they are long.
TEST_F(EmbeddedStore, KeepsLargeBodies) {
  open();
  std::string plain;
  while (plain.size() < (1U << 20U)) plain += "a line of text that repeats, like most of what is sent\n";
  std::string noise(1U << 20U, '\0');
  std::uint64_t state = 1;
  for (char& byte : noise)
    byte = static_cast<char>((state = state * 6364136223846793005U + 1442695040888963407U) >> 56U);
  finish(key(1), plain);
  finish(key(2), noise);
  reopen();
  EXPECT_EQ(look(key(1)).record.response->body, plain);
  EXPECT_EQ(look(key(2)).record.response->body, noise);
  close();
  std::uintmax_t stored = 0;
  for (const fs::path& file : files(".sst")) stored += fs::file_size(file);
  EXPECT_LT(stored, plain.size() + noise.size() - plain.size() / 2);
}

// Goal: calls under way when the store is destroyed end, and say that they may not have been applied.
TEST_F(EmbeddedStore, CallsUnderWayEndWhenTheStoreIsDestroyed) {
  open();
  int answered = 0;
  for (std::uint64_t i = 0; i < 500; ++i) {
    auto done = [&, i](const std::exception_ptr& error, Result<Claim> claimed) {
      EXPECT_EQ(error, nullptr);
      if (!claimed) EXPECT_EQ(claimed.error().code, Code::unavailable) << i << ' ' << claimed.error().detail;
      ++answered;
    };
    boost::asio::co_spawn(context_.get_executor(), store_->claim(key(i), Fingerprint{}, {.owner = i + 1}), done);
  }
  context_.poll();
  close();
  context_.restart();
  context_.run();
  EXPECT_EQ(answered, 500);
}

// Goal: coroutines whose io_context goes away unrun take their frames with them, and the store does not mind.
TEST_F(EmbeddedStore, AnIoContextMayVanishAfterTheStore) {
  open();
  {
    boost::asio::io_context going(1);
    for (std::uint64_t i = 0; i < 10; ++i) {
      boost::asio::co_spawn(going.get_executor(), store_->claim(key(i), Fingerprint{}, {.owner = i + 1}),
                            [](const std::exception_ptr&, const Result<Claim>&) {});
    }
    going.poll();
    close();
  }
  open();
  EXPECT_TRUE(claim(key(100), {}));
}

// Goal: a caller on a thread of its own may destroy its io_context the moment it has its answer.
TEST_F(EmbeddedStore, ACallersIoContextMayGoAsSoonAsItIsAnswered) {
  open();
  std::vector<std::jthread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (std::uint64_t i = 0; i < 50; ++i) {
        EXPECT_TRUE(run(store_->claim(key(t * 1000 + i), Fingerprint{}, Terms{.owner = 1})));
      }
    });
  }
}

// Goal: an exception in one caller's own code does not cost the others of its batch their answers.
TEST_F(EmbeddedStore, OneCallersExceptionDoesNotReachTheOthers) {
  open();
  int answered = 0;
  int thrown = 0;
  for (std::uint64_t i = 0; i < 20; ++i) {
    auto done = [&, i](const std::exception_ptr&, const Result<Claim>&) {
      ++answered;
      if (i % 5 == 0) throw std::runtime_error("the caller's own");
    };
    boost::asio::co_spawn(context_.get_executor(), store_->claim(key(i), Fingerprint{}, {.owner = i + 1}), done);
  }
  for (bool more = true; more;) {
    try {
      context_.run();
      more = false;
    } catch (const std::exception&) {  // several of one batch come as one
      ++thrown;
    }
  }
  EXPECT_EQ(answered, 20);
  EXPECT_GE(thrown, 1);
}

}  // namespace
}  // namespace semel::test
