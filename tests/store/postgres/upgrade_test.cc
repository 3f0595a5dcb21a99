// A database that was prepared by an older version of the schema, with programs of that version at work.

#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include "store/postgres/admin.h"
#include "store/postgres/fixture.h"
#include "store/postgres/sql.h"
#include "support/places.h"
#include "support/postgres_server.h"
#include <semel/postgres.h>

namespace semel::test {
namespace {

class PostgresUpgrade : public PostgresTest {
 protected:
  PostgresUpgrade() {
    server_.run("DROP DATABASE IF EXISTS of_version_1");
    server_.run("CREATE DATABASE of_version_1");
    std::ifstream file(test::in_tree("tests/store/postgres/schema_1.sql"));
    server_.run(std::string(std::istreambuf_iterator<char>(file), {}), "of_version_1");
  }

  // As a gateway of version 1 claims: whether it was granted.
  std::string claim_by_old(const Key& key, int owner) { return claim_by("semel.claim_1(", key, owner, "of_version_1"); }
  // As one of version 3, which was connected when the standing was this.
  std::string claim_by_third(const std::string& standing, const Key& key, int owner) {
    return claim_by("semel.claim_2('" + standing + "', ", key, owner, "of_version_3");
  }
  std::string claim_by(const std::string& function, const Key& key, int owner, const std::string& database) {
    try {
      return server_.run("SELECT mine FROM " + function + "300, ARRAY['\\x" + hex(key) +
                             "'::bytea], ARRAY['orders'], ARRAY[decode(repeat('00', 16), 'hex')], ARRAY[decode('01' || "
                             "repeat('00', 31),"
                             " 'hex')], ARRAY[" +
                             std::to_string(owner) +
                             "]::bigint[], ARRAY[60000]::bigint[], ARRAY[60000]::bigint[], ARRAY[false],"
                             " ARRAY[NULL]::bigint[], ARRAY[NULL]::bigint[])",
                         database);
    } catch (const std::exception& error) {
      return error.what();
    }
  }

  static std::string hex(const Key& key) {
    std::string id;
    for (const std::uint8_t byte : key.id) {
      constexpr const char* digits = "0123456789abcdef";
      id += {digits[byte >> 4U], digits[byte & 15U]};
    }
    return id;
  }

  PostgresServer& server_ = PostgresServer::shared();
  std::string url_ = server_.url("of_version_1");
};

// Its keys are there after the upgrade, and programs of both versions judge them together.
TEST_F(PostgresUpgrade, ProgramsOfBothVersionsShareTheKeys) {
  EXPECT_EQ(claim_by_old(key_of(1), 1), "t");
  const auto early = try_open(url_);
  ASSERT_FALSE(early);
  EXPECT_NE(early.error().detail.find("semel migrate"), std::string::npos);

  const auto migrated = migrate_postgres(*clock_, url_);
  ASSERT_TRUE(migrated) << migrated.error().detail;
  EXPECT_EQ(migrated->from, 1);
  EXPECT_EQ(migrated->to, 6);
  open(url_);
  const Result<Claim> held = claim(key_of(1), 2);
  ASSERT_TRUE(held) << held.error().detail;
  EXPECT_TRUE(std::holds_alternative<Held>(*held));
  EXPECT_EQ(claim_by_old(key_of(2), 3), "t");
  EXPECT_TRUE(std::holds_alternative<Held>(*claim(key_of(2), 4)));
  take(key_of(3), 5);
  EXPECT_EQ(claim_by_old(key_of(3), 6), "f");
}

// When the set changes, programs of version 1 cannot know of it: they are served nothing from then on.
TEST_F(PostgresUpgrade, ProgramsOfVersion1AreServedNothingWhenTheSetHasChanged) {
  ASSERT_TRUE(migrate_postgres(*clock_, url_));
  EXPECT_EQ(claim_by_old(key_of(1), 1), "t");
  ASSERT_TRUE(store::postgres::join_postgres_shards(*clock_, {url_, server_.fresh_database()}));
  EXPECT_NE(claim_by_old(key_of(2), 2).find("upgrade it"), std::string::npos) << claim_by_old(key_of(2), 2);
}

// A function that a later version replaces runs with its owner's rights as before: gateways may read no table.
TEST_F(PostgresUpgrade, WhatIsReplacedKeepsItsRights) {
  ASSERT_TRUE(migrate_postgres(*clock_, url_));
  const std::string lacking = server_.run(
      "SELECT string_agg(p.proname, ' ') FROM pg_proc p WHERE p.pronamespace = 'semel'::regnamespace"
      "   AND p.proname ~ '_[3-6]$' AND p.proname !~ '^inbox_' AND (NOT p.prosecdef OR p.proconfig IS NULL)",
      "of_version_1");
  EXPECT_EQ(lacking, "");
}

// A gateway of version 3 goes on over the connections that it has: it claims, renews and gives back by the standing
// that it was told before the upgrade.
TEST_F(PostgresUpgrade, GatewaysOfVersion3GoOnOverTheirConnections) {
  server_.run("DROP DATABASE IF EXISTS of_version_3");
  server_.run("CREATE DATABASE of_version_3");
  const auto in_third = [&](const std::string& sql) { return server_.run(sql, "of_version_3"); };
  for (const auto& migration : store::postgres::migrations()) {
    if (migration.version <= 3) in_third(std::string(migration.sql));
  }
  in_third("UPDATE semel.identity SET settled_at = now()");  // by the first gateway that was started
  const std::string standing = in_third("SELECT semel.standing_2()");
  EXPECT_EQ(claim_by_third(standing, key_of(1), 1), "t");

  const std::string url = server_.url("of_version_3");
  const auto migrated = migrate_postgres(*clock_, url);
  ASSERT_TRUE(migrated) << migrated.error().detail;
  EXPECT_EQ(migrated->from, 3);
  EXPECT_EQ(claim_by_third(standing, key_of(2), 2), "t");
  const std::string of_first = "ARRAY['\\x" + hex(key_of(1)) + "'::bytea], ARRAY[1]::bigint[], ARRAY[1]::bigint[]";
  const auto calls = [&](const std::string& function, const std::string& rest) {
    return in_third("SELECT count(*) FROM semel." + function + "('" + standing + "', 300, " + of_first + rest + ")");
  };
  EXPECT_EQ(calls("renew_2", ", ARRAY[60000]::bigint[]"), "1");
  EXPECT_EQ(calls("release_2", ""), "1");

  // A gateway of this version judges the same keys. It goes by more: a server that was started at another time is
  // another.
  open(url);
  EXPECT_TRUE(std::holds_alternative<Held>(*claim(key_of(2), 3)));
  EXPECT_EQ(claim_by_third(standing, key_of(2), 4), "f");
  const std::string fuller = in_third("SELECT semel.standing_6()");
  EXPECT_NE(fuller, standing);
  const std::string elsewhere = in_third("SELECT regexp_replace(semel.standing_6(), '\\S+ (\\S+)$', '1 \\1')");
  EXPECT_EQ(claim_by_third(fuller, key_of(3), 5), "t");
  EXPECT_NE(claim_by_third(elsewhere, key_of(4), 6).find("no longer the server"), std::string::npos);

  // Whatever changes for both is noticed by the old one, too.
  in_third("UPDATE semel.generation SET generation = gen_random_uuid()");
  EXPECT_NE(claim_by_third(standing, key_of(5), 7).find("no longer the server"), std::string::npos);
}

}  // namespace
}  // namespace semel::test
