// A gateway goes on only with the database that it was started with.

#include "store/postgres/known_server.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <unistd.h>

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
          .identity = "plain",
          .home = "here"};
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
  other.home = "elsewhere";
  EXPECT_NE(refusal(known, other).find("a copy of the database"), std::string::npos);
  other = usual();
  other.set = "one two three";
  EXPECT_NE(refusal(known, other).find("set of shards has changed"), std::string::npos);
  other = usual();
  other.identity = "abcd";
  other.timeline = 9;
  EXPECT_NE(refusal(known, other).find("identity of the database"), std::string::npos);
  EXPECT_EQ(refusal(known, usual()), "") << "the timeline of one that was refused does not count";
}

class KeptTimeline : public testing::Test {
 protected:
  KeptTimeline() { std::filesystem::remove_all(folder_); }
  ~KeptTimeline() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("semel-timeline-" + std::to_string(getpid()));
  std::filesystem::path file_ = folder_ / "postgres-one.timeline";
};

// With a folder, a process that has just been started knows which primary was the last one.
TEST_F(KeptTimeline, OutlivesTheProcess) {
  Server later = usual();
  later.timeline = 4;
  EXPECT_EQ(refusal(*std::make_unique<KnownServer>("plain", folder_), later), "");
  KnownServer known("plain", folder_);
  EXPECT_NE(refusal(known, usual()).find("former primary"), std::string::npos);
  EXPECT_EQ(refusal(known, later), "");
  Server other = usual();
  other.name = "two";
  KnownServer of_other("plain", folder_);
  EXPECT_EQ(refusal(of_other, other), "") << "each database has its own";
}

// What another gateway has seen meanwhile counts.
TEST_F(KeptTimeline, IsReadAgain) {
  KnownServer known("plain", folder_);
  EXPECT_EQ(refusal(known, usual()), "");
  Server later = usual();
  later.timeline = 4;
  KnownServer beside("plain", folder_);
  EXPECT_EQ(refusal(beside, later), "");
  EXPECT_NE(refusal(known, usual()).find("former primary"), std::string::npos);
}

// A note that cannot be read, or not be made, is no reason to believe a server.
TEST_F(KeptTimeline, RefusesWhatItCannotReadOrKeep) {
  for (const char* damaged :
       {"", "semel timeline ", "semel timeline 3", "semel timeline 0\n", "semel timeline x\n", "3\n"}) {
    std::filesystem::create_directories(folder_);
    std::ofstream(file_) << damaged;
    KnownServer known("plain", folder_);
    EXPECT_NE(refusal(known, usual()).find("is damaged"), std::string::npos) << damaged;
  }
  std::filesystem::remove_all(folder_);
  std::ofstream(folder_) << "a file in its place";
  KnownServer known("plain", folder_);
  EXPECT_NE(refusal(known, usual()).find("cannot"), std::string::npos);
}

}  // namespace
}  // namespace semel::test
