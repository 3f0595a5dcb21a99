// The identity of a store in PostgreSQL: one for all who use it, whoever comes first, and for all shards of a set.
#include "core/identity.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "core/encoding.h"
#include "store/postgres/admin.h"
#include "store/postgres/fixture.h"
#include "store/sealed_store.h"
#include "support/pgbouncer.h"
#include "support/postgres_server.h"
#include <semel/endings.h>

namespace semel::test {
namespace {

using Keys = std::vector<core::AesKey>;
using Urls = std::vector<std::string>;

const core::AesKey old_key{1};
const core::AesKey new_key{2};
const core::AesKey wrong_key{3};

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

template <class Bytes>
std::string hex(const Bytes& bytes) {
  return core::to_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

class PostgresIdentity : public PostgresTest {
 protected:
  Result<store::CapableStore> opened(const Urls& urls, const Keys& keys) {
    PostgresOptions options;
    options.urls = urls;
    return store::postgres::open_with_keys(*clock_, options, keys);
  }
  // Opens and closes; what the store is then called by.
  Result<std::optional<core::StoreIdentity>> identity(const Urls& urls, const Keys& keys) {
    Result<store::CapableStore> store = opened(urls, keys);
    if (!store) return std::unexpected(store.error());
    return store->identity;
  }
  // The same, of a store that opens and has one.
  core::StoreIdentity known(const Urls& urls, const Keys& keys) {
    const auto found = identity(urls, keys);
    if (!found) throw std::runtime_error(found.error().detail);
    return found->value();
  }
  // Expects to be refused, and gives the reason.
  std::string refused(const Urls& urls, const Keys& keys) {
    const auto found = identity(urls, keys);
    EXPECT_FALSE(found);
    return found ? "" : found.error().detail;
  }
  void open_sealed(const Urls& urls, const Keys& keys) {
    store_.reset();
    Result<store::CapableStore> store = opened(urls, keys);
    ASSERT_TRUE(store) << store.error().detail;
    store_ = store::make_sealed_store(*std::move(store), keys, store::Unsealed::refused).store;
  }
  // No gateway is connected any more: servers notice that a little later.
  bool joined(const Urls& urls) {
    return soon([&] { return store::postgres::join_postgres_shards(*clock_, urls).has_value(); });
  }
  static std::string database_of(const std::string& url) {
    return url.substr(url.find("test_"), url.find('?') - url.find("test_"));
  }
  std::string mark_in(const std::string& url) {
    return server_.run("SELECT coalesce(encode(mark, 'hex'), '') FROM semel.identity", database_of(url));
  }
  std::string body_of(const Key& key, std::uint64_t owner) {
    const Result<Claim> claimed = claim(key, owner);
    if (!claimed) return claimed.error().detail;
    const auto* held = std::get_if<Held>(&*claimed);
    return held == nullptr ? "granted" : held->record.response == nullptr ? "running" : held->record.response->body;
  }

  PostgresServer& server_ = PostgresServer::shared();
};

// The first gateway with keys gives the database an identity; it stays, and nobody gets in without a key that fits.
TEST_F(PostgresIdentity, IsMadeByTheFirstGatewayAndStays) {
  const std::string url = server_.fresh_database();
  const core::StoreIdentity born = known({url}, {old_key});
  EXPECT_EQ(known({url}, {old_key}), born);
  EXPECT_EQ(mark_in(url), hex(core::mark_of(born)));
  EXPECT_TRUE(mentions(refused({url}, {wrong_key}), "put back the one"));
  EXPECT_TRUE(mentions(refused({url}, {}), "store.encryption_keys is empty; put the keys back"));
  EXPECT_FALSE(try_open(url)) << "nor does the library";
  EXPECT_FALSE(*store::postgres::has_plain_names(*clock_, url));
  EXPECT_NE(known({server_.fresh_database()}, {old_key}), born);
}

// Of many that start at once, with keys and without, all that start agree, every time.
TEST_F(PostgresIdentity, AllWhoStartTogetherAgree) {
  for (int round = 0; round < 6; ++round) {
    const std::string url = server_.fresh_database();
    std::vector<std::future<Result<std::optional<core::StoreIdentity>>>> starts;
    for (int i = 0; i < 6; ++i) {
      const Keys keys = round > 1 && i % 2 == round % 2 ? Keys{} : Keys{old_key};
      starts.push_back(std::async(std::launch::async, [this, url, keys] { return identity({url}, keys); }));
    }
    std::set<std::string> names;
    int started = 0;
    for (auto& start : starts) {
      const auto found = start.get();
      if (!found) {
        EXPECT_TRUE(mentions(found.error().detail, "store.encryption_keys is empty")) << found.error().detail;
        continue;
      }
      ++started;
      names.insert(*found ? hex(core::mark_of(**found)) : "");
    }
    EXPECT_GE(started, 3);
    ASSERT_EQ(names.size(), 1U) << "round " << round;
    EXPECT_EQ(*names.begin(), mark_in(url));
  }
}

// A gateway without keys settles on plain hashes, and that stays, even if no key was ever written.
TEST_F(PostgresIdentity, PlainHashesStay) {
  const std::string url = server_.fresh_database();
  EXPECT_FALSE(*store::postgres::has_plain_names(*clock_, url)) << "nobody has used it yet";
  EXPECT_FALSE(identity({url}, {}).value());
  EXPECT_FALSE(identity({url}, {old_key}).value());
  EXPECT_TRUE(*store::postgres::has_plain_names(*clock_, url));
  EXPECT_EQ(mark_in(url), "");
}

// Keys that were written before anybody settled anything keep the names that they have.
TEST_F(PostgresIdentity, KeysThatAreThereKeepTheirNames) {
  for (const std::string table : {"keys", "objects"}) {
    const std::string url = server_.fresh_database();
    open(url);
    Terms terms = terms_of(1);
    terms.order = std::make_shared<const Order>(Order{.object = key_of(2), .stamp = "5"});
    ASSERT_EQ(said(run(context_, store_->claim(key_of(1), fingerprint_of(1), terms))), "ok");
    store_.reset();
    server_.run("UPDATE semel.identity SET settled_at = NULL; DELETE FROM semel." +
                    std::string(table == "keys" ? "objects" : "keys"),
                database_of(url));
    EXPECT_FALSE(identity({url}, {old_key}).value()) << table;
  }
}

// A new key in front of the old one takes over at the next start, and the old one is not needed any more.
TEST_F(PostgresIdentity, OutlivesTheRotationOfKeys) {
  const std::string url = server_.fresh_database();
  const core::StoreIdentity born = known({url}, {old_key});
  EXPECT_EQ(known({url}, {new_key, old_key}), born);
  EXPECT_EQ(known({url}, {new_key}), born);
  EXPECT_TRUE(mentions(refused({url}, {old_key}), "none of store.encryption_keys opens"));
}

// Gateways that rotate at once, in both directions, lose nothing.
TEST_F(PostgresIdentity, OutlivesRotationByManyAtOnce) {
  const std::string url = server_.fresh_database();
  const core::StoreIdentity born = known({url}, {old_key});
  std::vector<std::future<std::size_t>> starts;
  for (int i = 0; i < 6; ++i) {
    const Keys keys = i % 2 == 0 ? Keys{new_key, old_key} : Keys{old_key, new_key};
    starts.push_back(std::async(std::launch::async, [this, url, keys, born] {
      std::size_t wrong = 0;
      for (int again = 0; again < 5; ++again) wrong += identity({url}, keys).value() == born ? 0U : 1U;
      return wrong;
    }));
  }
  for (auto& start : starts) EXPECT_EQ(start.get(), 0U);
  EXPECT_EQ(known({url}, {old_key, new_key}), born);
}

// No row holds the plain hash of a key, a scope, an event or an object; without an identity they do.
TEST_F(PostgresIdentity, LeavesNoPlainHashInTheTables) {
  const auto fill = [this] {
    ASSERT_EQ(said(complete(key_of(1), take(key_of(1), 1))), "ok");
    Terms terms = terms_of(2);
    terms.order = std::make_shared<const Order>(Order{.object = key_of(3), .stamp = "5"});
    ASSERT_EQ(said(run(context_, store_->claim(key_of(2), fingerprint_of(1), terms))), "ok");
    store_.reset();
  };
  const auto rows_with = [this](const std::string& url, const std::string& bytes) {
    return server_.run("SELECT (SELECT count(*) FROM semel.keys k WHERE k::text LIKE '%" + bytes +
                           "%') + (SELECT count(*) FROM semel.objects o WHERE o::text LIKE '%" + bytes + "%')",
                       database_of(url));
  };
  const std::string sealed = server_.fresh_database();
  open_sealed({sealed}, {old_key});
  fill();
  const std::string plain = server_.fresh_database();
  open(plain);
  fill();
  for (std::uint64_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(rows_with(sealed, hex(key_of(i).id)), "0") << i;
    EXPECT_NE(rows_with(plain, hex(key_of(i).id)), "0") << i;
  }
  EXPECT_EQ(rows_with(sealed, hex(key_of(1).scope)), "0");
  EXPECT_EQ(rows_with(plain, hex(key_of(1).scope)), "3");
}

// The rights that docs/postgres.md grants are enough to settle and to rotate; the row itself is out of reach.
TEST_F(PostgresIdentity, WorksWithTheLeastRights) {
  const std::string url = server_.fresh_database();
  server_.run(
      "DROP ROLE IF EXISTS semel_sealed; CREATE ROLE semel_sealed LOGIN; "
      "GRANT USAGE ON SCHEMA semel TO semel_sealed; "
      "GRANT SELECT ON semel.schema_version, semel.shards TO semel_sealed; "
      "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA semel TO semel_sealed",
      database_of(url));
  std::string limited = url;
  limited.replace(limited.find("user=postgres"), 13, "user=semel_sealed");
  const core::StoreIdentity born = known({limited}, {old_key});
  EXPECT_EQ(known({limited}, {new_key, old_key}), born);
  EXPECT_EQ(known({limited}, {new_key}), born);
  for (const std::string right : {"SELECT", "UPDATE", "INSERT", "DELETE"}) {
    EXPECT_EQ(
        server_.run("SELECT has_table_privilege('semel_sealed', 'semel.identity', '" + right + "')", database_of(url)),
        "f");
  }
}

// By way of a pooler it is the same.
TEST_F(PostgresIdentity, WorksByWayOfPgBouncer) {
  const std::string direct = server_.fresh_database();
  const std::string url = PgBouncer::shared().url(database_of(direct));
  const core::StoreIdentity born = known({url}, {old_key});
  EXPECT_EQ(known({direct}, {new_key, old_key}), born);
  open_sealed({url}, {new_key});
  ASSERT_EQ(said(complete(key_of(1), take(key_of(1), 1), answer_of("kept"))), "ok");
  open_sealed({direct}, {new_key});
  EXPECT_EQ(body_of(key_of(1), 2), "kept");
}

// A waiting gateway is told of the end of a key that another one ran, by the name that it asked for.
TEST_F(PostgresIdentity, EndingsComeByTheNameThatWasAskedFor) {
  const std::string url = server_.fresh_database();
  open_sealed({url}, {old_key});
  const Fence fence = take(key_of(1), 1);
  Result<store::CapableStore> other = opened({url}, {old_key});
  ASSERT_TRUE(other) << other.error().detail;
  const auto waiting = store::make_sealed_store(*std::move(other), {old_key}, store::Unsealed::refused);
  ASSERT_NE(waiting.endings, nullptr);
  Endings& endings = *waiting.endings;
  std::promise<Digest> promise;
  std::atomic<bool> told = false;
  endings.watch([&](const Digest& id) {
    if (!told.exchange(true)) promise.set_value(id);
  });
  endings.expect(key_of(1));
  std::this_thread::sleep_for(Millis{300});
  EXPECT_FALSE(told) << "it runs";
  ASSERT_EQ(said(complete(key_of(1), fence)), "ok");
  auto ended = promise.get_future();
  ASSERT_EQ(ended.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_EQ(ended.get(), key_of(1).id);
}

// A failover that lost the identity would be a database whose keys have other names: a gateway does not go on there.
TEST_F(PostgresIdentity, GatewayNoticesThatTheIdentityIsGone) {
  const std::string url = server_.fresh_database();
  open_sealed({url}, {old_key});
  take(key_of(1), 1);
  server_.run("TRUNCATE semel.keys; UPDATE semel.identity SET settled_at = NULL, mark = NULL, wrapped = NULL",
              database_of(url));
  server_.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'semel'",
              database_of(url));
  EXPECT_TRUE(soon([&] {
    const Result<Claim> claimed = claim(key_of(2), 2);
    return !claimed && mentions(claimed.error().detail, "identity of the database is not the one");
  }));
}

// The shards of a set have one identity; whoever was cut short while giving it to them is taken up again.
TEST_F(PostgresIdentity, IsOneForAllShards) {
  const std::string one = server_.fresh_database();
  const std::string two = server_.fresh_database();
  ASSERT_TRUE(joined({one, two}));
  EXPECT_TRUE(mentions(refused({one}, {old_key}), "not the set of shards"));
  EXPECT_EQ(mark_in(one), "") << "half of a set is not settled";
  const core::StoreIdentity born = known({one, two}, {old_key});
  EXPECT_EQ(known({two, one}, {old_key}), born);
  for (const std::string& url : {one, two}) {
    EXPECT_EQ(mark_in(url), hex(core::mark_of(born)));
    server_.run("UPDATE semel.identity SET settled_at = NULL, mark = NULL, wrapped = NULL", database_of(url));
    EXPECT_EQ(known({one, two}, {old_key}), born);
    EXPECT_EQ(mark_in(url), hex(core::mark_of(born)));
  }
  EXPECT_EQ(known({one, two}, {new_key, old_key}), born);
  EXPECT_EQ(known({one, two}, {new_key}), born) << "both were wrapped again";
}

// Gateways that start together on a set that is new agree, too.
TEST_F(PostgresIdentity, AllWhoStartTogetherAgreeOnASet) {
  const std::string one = server_.fresh_database();
  const std::string two = server_.fresh_database();
  ASSERT_TRUE(joined({one, two}));
  std::vector<std::future<Result<std::optional<core::StoreIdentity>>>> starts;
  for (int i = 0; i < 6; ++i) {
    const Urls urls = i % 2 == 0 ? Urls{one, two} : Urls{two, one};
    starts.push_back(std::async(std::launch::async, [this, urls] { return identity(urls, {old_key}); }));
  }
  for (auto& start : starts) EXPECT_EQ(hex(core::mark_of(start.get().value().value())), mark_in(one));
  EXPECT_EQ(mark_in(one), mark_in(two));
}

// A shard that is added gets the identity of the set from `semel migrate`, and every key is found where it was.
TEST_F(PostgresIdentity, IsCarriedToAShardThatIsAdded) {
  const std::string one = server_.fresh_database();
  const std::string two = server_.fresh_database();
  open_sealed({one}, {old_key});
  for (std::uint64_t i = 0; i < 40; ++i) {
    ASSERT_EQ(said(complete(key_of(i), take(key_of(i), i + 1), answer_of(std::to_string(i)))), "ok");
  }
  store_.reset();
  ASSERT_TRUE(joined({one, two}));
  EXPECT_EQ(mark_in(two), mark_in(one)) << "before any gateway has seen it";
  EXPECT_NE(mark_in(two), "");
  open_sealed({two, one}, {old_key});
  for (std::uint64_t i = 0; i < 40; ++i) EXPECT_EQ(body_of(key_of(i), 1'000 + i), std::to_string(i));
  for (std::uint64_t i = 100; i < 140; ++i) {
    ASSERT_EQ(said(complete(key_of(i), take(key_of(i), i), answer_of(std::to_string(i)))), "ok");
  }
  EXPECT_NE(server_.run("SELECT count(*) FROM semel.keys", database_of(two)), "0");
  open_sealed({one, two}, {old_key});
  for (std::uint64_t i = 100; i < 140; ++i) EXPECT_EQ(body_of(key_of(i), 2'000 + i), std::to_string(i));
}

// Databases of different identities, or of one and of plain hashes, do not become one set, and nothing is changed.
TEST_F(PostgresIdentity, DatabasesThatDifferDoNotBecomeOneSet) {
  const std::string one = server_.fresh_database();
  const std::string other = server_.fresh_database();
  const std::string plain = server_.fresh_database();
  const core::StoreIdentity born = known({one}, {old_key});
  known({other}, {old_key});
  EXPECT_FALSE(identity({plain}, {}).value());
  for (const std::string& added : {other, plain}) {
    Result<void> refusal;
    ASSERT_TRUE(soon([&] {
      refusal = store::postgres::join_postgres_shards(*clock_, {one, added});
      return !refusal && !mentions(refusal.error().detail, "stop it first");
    }));
    EXPECT_EQ(refusal.error().code, Code::invalid);
    EXPECT_TRUE(mentions(refusal.error().detail, "different identities")) << refusal.error().detail;
  }
  EXPECT_EQ(known({one}, {old_key}), born);
  EXPECT_TRUE(joined({plain, server_.fresh_database()})) << "plain hashes are carried, too";
}

// Should two databases of a set differ all the same, no gateway opens it.
TEST_F(PostgresIdentity, SetThatDiffersIsNotOpened) {
  const std::string one = server_.fresh_database();
  const std::string two = server_.fresh_database();
  ASSERT_TRUE(joined({one, two}));
  known({one, two}, {old_key});
  server_.run("UPDATE semel.identity SET mark = sha256('x')", database_of(two));
  EXPECT_TRUE(mentions(refused({one, two}, {old_key}), "different identities"));
  EXPECT_FALSE(store::postgres::join_postgres_shards(*clock_, {one, two}));
  server_.run("UPDATE semel.identity SET mark = sha256('x')", database_of(one));
  EXPECT_TRUE(mentions(refused({one, two}, {old_key}), "was altered"));
}

}  // namespace
}  // namespace semel::test
