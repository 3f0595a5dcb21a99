// What encryption adds to a store: nothing can be read where it is kept, and nothing moved or altered is replayed.
#include "store/sealed_store.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "core/seal.h"
#include "store/contract.h"
#include "store/embedded_fixture.h"
#include "support/faulty_store.h"
#include "support/run.h"
#include "support/virtual_clock.h"
#ifdef SEMEL_HAS_POSTGRES
#include "store/postgres_fixture.h"
#endif
#include <semel/stores.h>

namespace semel::test {
namespace {

const AesKey old_key{1};
const AesKey new_key{2};
constexpr std::string_view canary = "canary-4711-body";

Key key_of(std::uint8_t number) {
  return {.id = {number}, .scope = {1}, .space = "orders"};
}

Terms terms_of(std::uint64_t owner) {
  return {.lease = ample, .ttl = ample, .owner = owner};
}

// One store of plain records, seen through encryption and, by the test, without.
class SealedStoreTest : public testing::Test {
 protected:
  std::unique_ptr<Store> sealed(std::vector<AesKey> keys, Unsealed unsealed = Unsealed::refused) {
    return make_sealed_store(std::make_unique<FaultyStore>(*plain_, clock_, faults_at({})), std::move(keys), unsealed);
  }
  Fence take(Store& store, const Key& key, std::uint64_t owner) {
    const Result<Claim> claimed = run(store.claim(key, fingerprint_of(1), terms_of(owner)));
    return std::get<Granted>(claimed.value()).fence;
  }
  void keep(Store& store, const Key& key, std::uint64_t owner, std::string body) {
    const Fence fence = take(store, key, owner);
    ASSERT_EQ(said(run(store.complete(key, fence, answer_of(std::move(body))))), "ok");
  }
  // The body that holds `key`, or the code of the error.
  std::string seen(Store& store, const Key& key) {
    const Result<Claim> claimed = run(store.claim(key, fingerprint_of(1), terms_of(99)));
    if (!claimed) return std::string(code_name(claimed.error().code));
    const auto* held = std::get_if<Held>(&*claimed);
    return held == nullptr ? "free" : held->record.response == nullptr ? "running" : held->record.response->body;
  }

  VirtualClock clock_;
  std::unique_ptr<Store> plain_ = make_memory_store(clock_);
};

// What the store behind it holds is a sealed response, and the front gives back the answer.
TEST_F(SealedStoreTest, KeepsNothingReadable) {
  const auto store = sealed({old_key});
  keep(*store, key_of(1), 1, std::string(canary));
  EXPECT_EQ(seen(*store, key_of(1)), canary);
  const Result<Claim> raw = run(plain_->claim(key_of(1), fingerprint_of(1), terms_of(98)));
  const Response& kept = *std::get<Held>(raw.value()).record.response;
  EXPECT_TRUE(is_sealed(kept));
  EXPECT_EQ(kept.body.find(canary), std::string::npos);
}

// The answer of one key, put under another as someone who can write to the store might, is refused; the key stays
// blocked.
TEST_F(SealedStoreTest, RefusesAnAnswerThatWasMoved) {
  const auto store = sealed({old_key});
  keep(*store, key_of(1), 1, "first");
  const Result<Claim> raw = run(plain_->claim(key_of(1), fingerprint_of(1), terms_of(98)));
  const SharedResponse stolen = std::get<Held>(raw.value()).record.response;
  const Fence fence = take(*plain_, key_of(2), 2);
  ASSERT_EQ(said(run(plain_->complete(key_of(2), fence, stolen))), "ok");
  EXPECT_EQ(seen(*store, key_of(2)), "corrupt");
  EXPECT_EQ(seen(*store, key_of(2)), "corrupt");
}

// An answer that is not encrypted may have been written by anybody.
TEST_F(SealedStoreTest, RefusesPlainAnswersUnlessTheyAreAccepted) {
  keep(*plain_, key_of(1), 1, "from before");
  EXPECT_EQ(seen(*sealed({old_key}), key_of(1)), "corrupt");
  EXPECT_EQ(seen(*sealed({old_key}, Unsealed::accepted), key_of(1)), "from before");
}

// A new key in front of the old one reads both; the new one alone does not read what the old one wrote.
TEST_F(SealedStoreTest, KeysRotate) {
  keep(*sealed({old_key}), key_of(1), 1, "old");
  const auto rotating = sealed({new_key, old_key});
  keep(*rotating, key_of(2), 2, "new");
  EXPECT_EQ(seen(*rotating, key_of(1)), "old");
  EXPECT_EQ(seen(*rotating, key_of(2)), "new");
  EXPECT_EQ(seen(*sealed({new_key}), key_of(1)), "corrupt");
  EXPECT_EQ(seen(*sealed({new_key}), key_of(2)), "new");
}

// A claim made in one process may be ended in another.
TEST_F(SealedStoreTest, AnotherProcessMayEndTheClaim) {
  const Fence fence = take(*sealed({old_key}), key_of(1), 1);
  const auto other = sealed({old_key});
  ASSERT_EQ(said(run(other->complete(key_of(1), fence, answer_of("by the other")))), "ok");
  EXPECT_EQ(seen(*other, key_of(1)), "by the other");
}

class SealedEmbeddedTest : public EmbeddedTest {};

std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// No file of the folder holds the planted text; without encryption one does, so the search is one that finds.
TEST_F(SealedEmbeddedTest, LeavesNoCanaryInTheFolder) {
  const auto holds_canary = [this] {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(options_.path)) {
      if (entry.is_regular_file() && content_of(entry.path()).find(canary) != std::string::npos) return true;
    }
    return false;
  };
  open();
  store_ = make_sealed_store(std::move(store_), {old_key}, Unsealed::refused);
  finish(key(1), std::string(canary));
  close();
  EXPECT_FALSE(holds_canary());
  open();
  store_ = make_sealed_store(std::move(store_), {old_key}, Unsealed::refused);
  EXPECT_EQ(look(key(1)).record.response->body, canary);
  close();
  open();
  finish(key(2), std::string(canary));
  close();
  EXPECT_TRUE(holds_canary());
}

#ifdef SEMEL_HAS_POSTGRES

class SealedPostgresTest : public PostgresTest {};

// No row of the table holds the planted text; without encryption one does.
TEST_F(SealedPostgresTest, LeavesNoCanaryInTheTable) {
  PostgresServer& server = PostgresServer::shared();
  server.run("TRUNCATE semel.keys, semel.objects");
  const auto count = [&] {
    return server.run("SELECT count(*) FROM semel.keys k WHERE position('canary-4711-body'::bytea IN k.response) > 0");
  };
  open(server.url());
  store_ = make_sealed_store(std::move(store_), {old_key}, Unsealed::refused);
  const Fence fence = take(PostgresTest::key_of(1), 1);
  ASSERT_EQ(said(complete(PostgresTest::key_of(1), fence, answer_of(std::string(canary)))), "ok");
  EXPECT_EQ(count(), "0");
  open(server.url());
  const Fence plain = take(PostgresTest::key_of(2), 2);
  ASSERT_EQ(said(complete(PostgresTest::key_of(2), plain, answer_of(std::string(canary)))), "ok");
  EXPECT_EQ(count(), "1");
}

#endif

}  // namespace
}  // namespace semel::test
