// A gateway goes on only with the database that it was started with.

#include "store/postgres/known_server.h"

#include <string>

#include <gtest/gtest.h>

#include "store/postgres/sql.h"

namespace semel::test {
namespace {

using store::postgres::KnownServer;
using store::postgres::Server;

Server usual() {
  return {.timeline = 3,
          .schema_version = store::postgres::schema_version_max,
          .name = "one",
          .set = "one two",
          .identity = "plain"};
}

std::string refusal(KnownServer& known, const Server& server) {
  const Result<void> admitted = known.admit(server);
  return admitted ? "" : admitted.error().detail;
}

// The one it met first is admitted as often as it comes, also after a failover.
TEST(KnownServer, AdmitsTheSameAgain) {
  KnownServer known("plain");
  EXPECT_EQ(refusal(known, usual()), "");
  Server later = usual();
  later.timeline = 4;
  EXPECT_EQ(refusal(known, later), "");
  EXPECT_NE(refusal(known, usual()).find("former primary"), std::string::npos) << "its timeline is over";
  EXPECT_EQ(refusal(known, later), "");
}

// Another database, another set of shards, another identity: the keys would not be found there.
TEST(KnownServer, RefusesWhatHasNoneOfTheKeys) {
  KnownServer known("plain");
  ASSERT_EQ(refusal(known, usual()), "");
  Server other = usual();
  other.name = "three";
  EXPECT_NE(refusal(known, other).find("another database"), std::string::npos);
  other = usual();
  other.set = "one two three";
  EXPECT_NE(refusal(known, other).find("set of shards has changed"), std::string::npos);
  other = usual();
  other.identity = "abcd";
  other.timeline = 9;
  EXPECT_NE(refusal(known, other).find("identity of the database"), std::string::npos);
  EXPECT_EQ(refusal(known, usual()), "") << "the timeline of one that was refused does not count";
}

}  // namespace
}  // namespace semel::test
