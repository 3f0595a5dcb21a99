// What encryption adds to a store: nothing can be read where it is kept, and nothing moved or altered is replayed.
#include "store/sealed_store.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/identity.h"
#include "core/seal.h"
#include "store/capable_store.h"
#include "store/contract.h"
#include "store/embedded/fixture.h"
#include "store/embedded/store.h"
#include "support/faulty_store.h"
#include "support/run.h"
#include "support/virtual_clock.h"
#ifdef SEMEL_HAS_POSTGRES
#include "store/postgres/fixture.h"
#endif
#include <semel/endings.h>
#include <semel/stores.h>

namespace semel::test {
namespace {

const core::AesKey old_key{1};
const core::AesKey new_key{2};
const core::StoreIdentity identity{42, 7};
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
  std::unique_ptr<Store> sealed(const std::vector<core::AesKey>& keys,
                                store::Unsealed unsealed = store::Unsealed::refused,
                                const std::optional<core::StoreIdentity>& named_by = std::nullopt) {
    store::CapableStore inner;
    inner.store = std::make_unique<FaultyStore>(*plain_, clock_, faults_at({}));
    inner.identity = named_by;
    return store::make_sealed_store(std::move(inner), keys, unsealed).store;
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
  std::unique_ptr<Store> plain_ = make_memory_store(clock_).store;
};

// What the store behind it holds is a sealed response, and the front gives back the answer.
TEST_F(SealedStoreTest, KeepsNothingReadable) {
  const auto store = sealed({old_key});
  keep(*store, key_of(1), 1, std::string(canary));
  EXPECT_EQ(seen(*store, key_of(1)), canary);
  const Result<Claim> raw = run(plain_->claim(key_of(1), fingerprint_of(1), terms_of(98)));
  const Response& kept = *std::get<Held>(raw.value()).record.response;
  EXPECT_TRUE(core::is_sealed(kept));
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
  EXPECT_EQ(seen(*sealed({old_key}, store::Unsealed::accepted), key_of(1)), "from before");
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

// The store behind it never hears of a plain id or scope, and the front gives back the key that was asked for.
TEST_F(SealedStoreTest, NamesKeysByTheIdentity) {
  const auto store = sealed({old_key}, store::Unsealed::refused, identity);
  keep(*store, key_of(1), 1, "kept");
  EXPECT_EQ(seen(*plain_, key_of(1)), "free") << "under its plain name";
  const Result<Claim> raw =
      run(plain_->claim(core::KeyNames(identity).name(key_of(1)), fingerprint_of(1), terms_of(98)));
  const Record& stored = std::get<Held>(raw.value()).record;
  EXPECT_NE(stored.key.scope, key_of(1).scope);
  EXPECT_TRUE(core::is_sealed(*stored.response));

  const Result<Claim> again = run(store->claim(key_of(1), fingerprint_of(1), terms_of(99)));
  const Record& found = std::get<Held>(again.value()).record;
  EXPECT_EQ(found.key.id, key_of(1).id);
  EXPECT_EQ(found.key.scope, key_of(1).scope);
  EXPECT_EQ(found.key.space, "orders");
  EXPECT_EQ(found.response->body, "kept");
}

// Every other call finds the key by the same name.
TEST_F(SealedStoreTest, EveryCallUsesTheSameName) {
  const auto store = sealed({old_key}, store::Unsealed::refused, identity);
  const Fence first = take(*store, key_of(1), 1);
  EXPECT_EQ(said(run(store->renew(key_of(1), first, ample))), "ok");
  EXPECT_EQ(said(run(store->release(key_of(1), first))), "ok");
  const Fence second = take(*store, key_of(1), 2);
  EXPECT_EQ(second.number, 2U);
  EXPECT_EQ(said(run(store->complete(key_of(1), second, answer_of("kept")))), "ok");

  store::CapableStore memory{make_memory_store(clock_)};
  memory.identity = identity;
  const store::CapableStore whole = store::make_sealed_store(std::move(memory), {old_key}, store::Unsealed::refused);
  keep(*whole.store, key_of(1), 1, "kept");
  EXPECT_TRUE(*run(whole.reopening->reopen(key_of(1))));
  EXPECT_EQ(take(*whole.store, key_of(1), 2).number, 2U);
}

// A store that tells of endings as PostgreSQL does, by the only names that it has.
class TellingStore : public FaultyStore, public Endings {
 public:
  TellingStore(Store& inner, Clock& clock) : FaultyStore(inner, clock, faults_at({})) {}
  void watch(std::function<void(const Digest&)> ended) override { tell = std::move(ended); }
  void expect(const Key& key) override { expected.push_back(key.id); }

  std::function<void(const Digest&)> tell;
  std::vector<Digest> expected;
};

class SealedEndingsTest : public SealedStoreTest {
 protected:
  SealedEndingsTest() {
    auto telling = std::make_unique<TellingStore>(*plain_, clock_);
    inner_ = telling.get();
    store::CapableStore opened;
    opened.endings = inner_;
    opened.store = std::move(telling);
    opened.identity = identity;
    store_ = store::make_sealed_store(std::move(opened), {old_key}, store::Unsealed::refused);
  }

  TellingStore* inner_ = nullptr;
  store::CapableStore store_;
};

// Who waits for a key is told of its end by the name that it asked for; the store is asked for its own.
TEST_F(SealedEndingsTest, TellsOfEndingsByTheNameThatWasAskedFor) {
  Endings& endings = *store_.endings;
  std::vector<Digest> ended;
  endings.watch([&](const Digest& id) { ended.push_back(id); });
  endings.expect(key_of(1));
  ASSERT_EQ(inner_->expected, std::vector<Digest>{core::KeyNames(identity).name(key_of(1)).id});
  inner_->tell(inner_->expected.front());
  EXPECT_EQ(ended, std::vector<Digest>{key_of(1).id});
}

// An object is busy with an event that another node runs: nobody here knows its plain name, but it can be waited for.
TEST_F(SealedEndingsTest, WaitsForAnEventOfAnotherNode) {
  const auto other_node = sealed({old_key}, store::Unsealed::refused, identity);
  const auto in_order = [](std::uint64_t owner) {
    Terms terms = terms_of(owner);
    terms.order = std::make_shared<const Order>(Order{.object = key_of(100), .stamp = "5"});
    return terms;
  };
  const auto busy_with = [&](Store& node, const Key& key) {
    const Result<Claim> claimed = run(node.claim(key, fingerprint_of(1), in_order(9)));
    return std::get<Busy>(claimed.value()).other.record.key;
  };
  ASSERT_TRUE(std::holds_alternative<Granted>(*run(other_node->claim(key_of(1), fingerprint_of(1), in_order(1)))));
  EXPECT_EQ(busy_with(*other_node, key_of(2)).id, key_of(1).id) << "there it has its own name";

  const Key other = busy_with(*store_.store, key_of(2));
  EXPECT_EQ(other.scope, key_of(1).scope);
  Endings& endings = *store_.endings;
  std::vector<Digest> ended;
  endings.watch([&](const Digest& id) { ended.push_back(id); });
  endings.expect(other);
  const Digest stored = core::KeyNames(identity).name(key_of(1)).id;
  ASSERT_EQ(inner_->expected, std::vector<Digest>{stored});
  inner_->tell(stored);
  EXPECT_EQ(ended, std::vector<Digest>{other.id});
}

// It can do what the store inside can, and no more: callers ask the value that opening returns, and nothing else.
TEST_F(SealedStoreTest, CanDoWhatTheStoreInsideCan) {
  store::CapableStore bare;
  bare.store = std::make_unique<FaultyStore>(*plain_, clock_, faults_at({}));
  const store::CapableStore outside = store::make_sealed_store(std::move(bare), {old_key}, store::Unsealed::refused);
  EXPECT_EQ(outside.endings, nullptr);
  EXPECT_EQ(outside.reopening, nullptr);
  EXPECT_EQ(outside.glance, nullptr);
  const store::CapableStore memory =
      store::make_sealed_store({make_memory_store(clock_)}, {old_key}, store::Unsealed::refused);
  EXPECT_EQ(memory.endings, nullptr);
  EXPECT_NE(memory.reopening, nullptr);
  EXPECT_EQ(memory.glance, nullptr);
}

class SealedEmbeddedTest : public EmbeddedTest {
 protected:
  void open_sealed() {
    Result<store::CapableStore> opened = store::embedded::open_with_keys(clock_, options_, {old_key});
    ASSERT_TRUE(opened) << opened.error().detail;
    store::CapableStore sealed = store::make_sealed_store(*std::move(opened), {old_key}, store::Unsealed::refused);
    glance_ = sealed.glance;
    store_ = std::move(sealed.store);
  }
  // Whether any file of the closed store holds `bytes`. What is in the log and in no table is there as it was written.
  bool holds(std::string_view bytes) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(options_.path)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      const std::string content{std::istreambuf_iterator<char>(in), {}};
      if (content.find(bytes) != std::string::npos) return true;
    }
    return false;
  }

  store::Glance* glance_ = nullptr;  // of the store
};

// A glance finds a key by the name that the store has for it.
TEST_F(SealedEmbeddedTest, AGlanceSeesWhatIsFree) {
  open_sealed();
  ASSERT_NE(glance_, nullptr);
  EXPECT_TRUE(glance_->surely_free(key(1)));
  take(key(1));
  EXPECT_FALSE(glance_->surely_free(key(1)));
  EXPECT_TRUE(glance_->surely_free(key(2)));
}

template <class Bytes>
std::string_view view(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// No file of the folder holds the planted text; without encryption one does, so the search is one that finds.
TEST_F(SealedEmbeddedTest, LeavesNoCanaryInTheFolder) {
  open_sealed();
  finish(key(1), std::string(canary));
  close();
  EXPECT_FALSE(holds(canary));
  open_sealed();
  EXPECT_EQ(look(key(1)).record.response->body, canary);
  close();
  options_.path += "-plain";
  open();
  finish(key(2), std::string(canary));
  close();
  EXPECT_TRUE(holds(canary));
}

// Nor does it hold the plain hash of a key, a scope, an event or its object; without an identity it does.
TEST_F(SealedEmbeddedTest, LeavesNoPlainHashInTheFolder) {
  const auto fill = [this] {
    finish(key(1), "kept");
    take(key(2));
    const Order order{.object = key(3), .stamp = "5"};
    take(key(4), {.order = std::make_shared<const Order>(order)});
    close();
  };
  open_sealed();
  fill();
  for (std::uint64_t i = 1; i <= 4; ++i) EXPECT_FALSE(holds(view(key(i).id))) << i;
  EXPECT_FALSE(holds(view(key(1).scope)));
  EXPECT_FALSE(holds(view(key(1).id).substr(0, 8))) << "not even the beginning of it";
  options_.path += "-plain";
  open();
  fill();
  for (std::uint64_t i = 1; i <= 4; ++i) EXPECT_TRUE(holds(view(key(i).id))) << i;
  EXPECT_TRUE(holds(view(key(1).scope)));
}

// A store from before encryption is found again under its plain hashes, with keys and later without.
TEST_F(SealedEmbeddedTest, FindsTheKeysOfAnOlderStore) {
  open();
  const Fence fence = take(key(1));
  finish(key(2), "from before");
  close();
  open_sealed();
  EXPECT_EQ(look(key(1)).record.fence, fence);
  ASSERT_TRUE(complete(key(1), fence, response("later")));
  EXPECT_EQ(look(key(1)).record.response->body, "later");
  close();
  open();
  EXPECT_EQ(look(key(2)).record.response->body, "from before");
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
  store::CapableStore plain_store;
  plain_store.store = std::move(store_);
  store_ = store::make_sealed_store(std::move(plain_store), {old_key}, store::Unsealed::refused).store;
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
