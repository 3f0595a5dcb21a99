// A database that was prepared by version 1 of the schema, with programs of that version at work.

#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include "store/postgres/admin.h"
#include "store/postgres/fixture.h"
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
  std::string claim_by_old(const Key& key, int owner) {
    std::string id;
    for (const std::uint8_t byte : key.id) {
      constexpr const char* digits = "0123456789abcdef";
      id += {digits[byte >> 4U], digits[byte & 15U]};
    }
    try {
      return server_.run("SELECT mine FROM semel.claim_1(300, ARRAY['\\x" + id +
                             "'::bytea], ARRAY['orders'], ARRAY[decode(repeat('00', 16), 'hex')], ARRAY[decode('01' || "
                             "repeat('00', 31),"
                             " 'hex')], ARRAY[" +
                             std::to_string(owner) +
                             "]::bigint[], ARRAY[60000]::bigint[], ARRAY[60000]::bigint[], ARRAY[false],"
                             " ARRAY[NULL]::bigint[], ARRAY[NULL]::bigint[])",
                         "of_version_1");
    } catch (const std::exception& error) {
      return error.what();
    }
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

}  // namespace
}  // namespace semel::test
