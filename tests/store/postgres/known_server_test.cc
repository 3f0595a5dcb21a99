// A gateway goes on only with the database that it was started with.

#include "store/postgres/known_server.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <unistd.h>

#include <gtest/gtest.h>

#include "store/postgres/seen.h"
#include "store/postgres/sql.h"

namespace semel::test {
namespace {

using store::postgres::KnownServer;
using store::postgres::NewestSeen;
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

// A copy says of itself what its original said when it was made: less than was seen since.
TEST(KnownServer, RefusesAnOlderCopy) {
  const auto newest = std::make_shared<NewestSeen>();
  KnownServer known("plain", {}, newest);
  ASSERT_EQ(refusal(known, usual()), "");
  newest->raise({.timeline = 3, .pulse = 41});
  EXPECT_NE(refusal(known, usual()).find("an older copy"), std::string::npos);
  Server again = usual();
  again.pulse = 41;
  EXPECT_EQ(refusal(known, again), "") << "the original";
  Server promoted = usual();
  promoted.timeline = 4;
  promoted.pulse = 40;
  EXPECT_EQ(refusal(known, promoted), "") << "a failover may lose a pulse, and is no copy";
  EXPECT_NE(refusal(known, again).find("former primary"), std::string::npos);
  promoted.pulse = 39;
  EXPECT_NE(refusal(known, promoted).find("an older copy"), std::string::npos) << "of the new primary";
}

// A copy that is written to is ahead of its original after a while. It was raised to what was seen at another place.
TEST(KnownServer, RefusesACopyThatWentItsOwnWay) {
  const auto newest = std::make_shared<NewestSeen>();
  KnownServer known("plain", {}, newest);
  Server original = usual();
  original.pulse = 41;
  original.reigns = {{1, "first"}, {30, "second"}};
  ASSERT_EQ(refusal(known, original), "");
  Server copy = original;
  copy.pulse = 60;
  copy.reigns = {{1, "first"}, {30, "second"}, {38, "copy"}};
  EXPECT_NE(refusal(known, copy).find("an older copy"), std::string::npos);
  copy.reigns = {{1, "first"}, {29, "copy"}};
  EXPECT_NE(refusal(known, copy).find("an older copy"), std::string::npos);
  copy.reigns.clear();
  EXPECT_NE(refusal(known, copy).find("an older copy"), std::string::npos);
  Server restarted = original;
  restarted.pulse = 50;
  restarted.reigns = {{1, "first"}, {30, "second"}, {42, "third"}};
  EXPECT_EQ(refusal(known, restarted), "") << "it had all that was seen before it was started again";
  EXPECT_EQ(newest->get().place, "third");
  Server promoted = copy;
  promoted.timeline = 4;
  EXPECT_EQ(refusal(known, promoted), "");
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

// The same for how far it was. A note of an earlier version does not say that.
TEST_F(KeptTimeline, TellsAnOlderCopyFromItsOriginal) {
  std::filesystem::create_directories(folder_);
  std::ofstream(file_) << "semel timeline 3\n";
  KnownServer upgraded("plain", folder_);
  EXPECT_EQ(refusal(upgraded, usual()), "");
  std::ofstream(file_) << "semel timeline 3 pulse 41\n";
  KnownServer known("plain", folder_);
  EXPECT_NE(refusal(known, usual()).find("remove the note"), std::string::npos);
  Server original = usual();
  original.pulse = 41;
  original.reigns = {{1, "here"}};
  EXPECT_EQ(refusal(known, original), "");
  std::ofstream(file_) << "semel timeline 3 pulse 41 at elsewhere\n";
  KnownServer of_another("plain", folder_);
  EXPECT_NE(refusal(of_another, original).find("an older copy"), std::string::npos);
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
       {"", "semel timeline ", "semel timeline 3", "semel timeline 0\n", "semel timeline x\n", "3\n",
        "semel timeline 3 pulse \n", "semel timeline 3 pulse -1\n", "semel timeline 3 pulse 4",
        "semel timeline 3 pulse 4 at \n", "semel timeline 3 pulse 4 at x y\n"}) {
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
