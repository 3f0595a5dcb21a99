// A gateway goes on only with the database that it was started with.

#include "store/postgres/known_server.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "store/postgres/seen.h"
#include "store/postgres/seen_file.h"
#include "store/postgres/sql.h"

namespace semel::test {
namespace {

using store::postgres::KnownServer;
using store::postgres::NewestSeen;
using store::postgres::Reached;
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
  newest->raise({.timeline = 3, .pulse = 41, .place = {}, .home = "here"});
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

// A connection is to be greeted again when another server has taken over, or when it is doubted; once.
TEST(KnownServer, OvertakesConnectionsThatWereMadeBefore) {
  NewestSeen newest;
  newest.raise({.timeline = 2, .pulse = 9, .place = {}, .home = "here"});
  EXPECT_FALSE(newest.overtakes({.timeline = 2, .doubts = 0}));
  newest.raise({.timeline = 3, .pulse = 8, .place = {}, .home = "elsewhere"});
  EXPECT_FALSE(newest.overtakes({.timeline = 2, .doubts = 0})) << "timelines of another cluster do not count";
  newest.raise({.timeline = 3, .pulse = 8, .place = {}, .home = "here"});
  EXPECT_TRUE(newest.overtakes({.timeline = 2, .doubts = 0}));
  EXPECT_FALSE(newest.overtakes({.timeline = 3, .doubts = 0}));
  newest.doubt();
  EXPECT_TRUE(newest.overtakes({.timeline = 3, .doubts = 0}));
  EXPECT_FALSE(newest.overtakes({.timeline = 3, .doubts = newest.doubts()}));
}

// All connections of a gateway go by what the first of them has found. A cluster that had more failovers has a higher
// timeline, which says nothing about a copy there.
TEST(KnownServer, RefusesACopyElsewhereThatAnotherConnectionHasNotMet) {
  const auto newest = std::make_shared<NewestSeen>();
  KnownServer of_requests("plain", {}, newest);
  ASSERT_EQ(refusal(of_requests, usual()), "");
  Server copy = usual();
  copy.home = "elsewhere";
  copy.timeline = 9;
  KnownServer of_operators("plain", {}, newest);
  EXPECT_NE(refusal(of_operators, copy).find("a copy of the database"), std::string::npos);
  EXPECT_EQ(refusal(of_requests, usual()), "") << "the original is no former primary";
  EXPECT_EQ(refusal(of_operators, usual()), "");
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

// A dump that is restored in a cluster with a higher timeline is no new primary: timelines count within one cluster.
TEST_F(KeptTimeline, TellsAnotherClusterFromANewPrimary) {
  Server original = usual();
  original.pulse = 500;
  EXPECT_EQ(refusal(*std::make_unique<KnownServer>("plain", folder_), original), "");
  Server restored = original;
  restored.home = "elsewhere";
  restored.timeline = 9;
  restored.pulse = 400;
  KnownServer known("plain", folder_);
  const std::string why = refusal(known, restored);
  EXPECT_NE(why.find("a copy of the database"), std::string::npos) << why;
  EXPECT_NE(why.find("remove the note"), std::string::npos) << why;
  EXPECT_EQ(refusal(known, original), "") << "the note is that of the original";
  Server promoted = original;
  promoted.timeline = 4;
  promoted.pulse = 499;
  EXPECT_EQ(refusal(known, promoted), "") << "its standby, after a failover";
}

// A note of an earlier version does not say where the database lives. Who goes by it says so from then on.
TEST_F(KeptTimeline, LearnsWhereTheDatabaseLives) {
  for (const char* before :
       {"semel timeline 3\n", "semel timeline 3 pulse 4\n", "semel timeline 3 pulse 4 at here\n"}) {
    std::filesystem::create_directories(folder_);
    std::ofstream(file_) << before;
    Server original = usual();
    original.pulse = 4;
    original.reigns = {{1, "here"}};
    EXPECT_EQ(refusal(*std::make_unique<KnownServer>("plain", folder_), original), "");
    Server restored = original;
    restored.home = "elsewhere";
    restored.timeline = 9;
    KnownServer known("plain", folder_);
    EXPECT_NE(refusal(known, restored).find("remove the note"), std::string::npos) << before;
  }
}

// Gateways that share the folder see failovers at the same time. None takes back what another was promised.
TEST_F(KeptTimeline, NeverGoesBack) {
  constexpr std::uint32_t gateways = 4;
  constexpr std::uint32_t failovers = 40;
  std::mutex mutex;
  std::vector<std::string> wrong;
  const auto admit = [&](std::uint32_t timeline) {
    KnownServer known("plain", folder_);
    Server server = usual();
    server.timeline = timeline;
    server.reigns = {{0, std::string(timeline % 31, 'x')}};  // so that notes are of different lengths
    const std::string why = refusal(known, server);
    const Result<Reached> kept = store::postgres::load_seen(folder_, "one");
    const std::scoped_lock lock(mutex);
    if (!why.empty() && why.find("former primary") == std::string::npos) wrong.push_back(why);
    if (!kept) wrong.push_back(kept.error().detail);
    if (why.empty() && kept && kept->timeline < timeline) wrong.push_back("timeline " + std::to_string(kept->timeline));
  };
  std::vector<std::jthread> threads;
  for (std::uint32_t i = 1; i <= gateways; ++i) {
    threads.emplace_back([&, i] {
      for (std::uint32_t k = 0; k < failovers; ++k) admit((k * gateways) + i);
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, std::vector<std::string>{});
  for (const auto& left : std::filesystem::directory_iterator(folder_)) {
    EXPECT_TRUE(left.path() == file_ || left.path().extension() == ".lock") << left.path();
  }
}

// Who is still at the former primary, or elsewhere, does not replace what the note says, however far it is there.
TEST_F(KeptTimeline, IsReplacedOnlyByMoreOfTheSame) {
  const auto say = [&](const Reached& seen) { return *store::postgres::raise_seen(folder_, "one", seen); };
  const Reached newer{.timeline = 2, .pulse = 5, .place = "there", .home = "here"};
  EXPECT_EQ(say({.timeline = 1, .pulse = 90, .place = {}, .home = {}}).pulse, 90);
  EXPECT_EQ(say(newer), newer);
  EXPECT_EQ(say({.timeline = 1, .pulse = 100, .place = "before", .home = "here"}), newer);
  EXPECT_EQ(say({.timeline = 3, .pulse = 100, .place = "there", .home = "elsewhere"}), newer);
  EXPECT_EQ(say({.timeline = 3, .pulse = 100, .place = "there", .home = {}}), newer);
  EXPECT_EQ(*store::postgres::load_seen(folder_, "one"), newer);
}

// A process that was frozen while it had the lock does not freeze the others.
TEST_F(KeptTimeline, IsNotWaitedForWithoutEnd) {
  std::filesystem::create_directories(folder_);
  const int frozen = open((file_.string() + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(flock(frozen, LOCK_EX), 0);
  KnownServer known("plain", folder_);
  EXPECT_NE(refusal(known, usual()).find("cannot lock"), std::string::npos);
  close(frozen);
  EXPECT_EQ(refusal(known, usual()), "");
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
        "semel timeline 3 pulse 4 at \n", "semel timeline 3 pulse 4 at x y\n", "semel timeline 3 pulse 4 at x\ny\n",
        "semel timeline 3 pulse 4 at x home \n", "semel timeline 3 pulse 4 home x at y\n"}) {
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
