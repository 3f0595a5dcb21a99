// What an embedded store finds when it is opened: all of it, or a reason to refuse.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "store/embedded/fixture.h"
#include "store/embedded/wal_marker.h"

namespace semel::test {
namespace {

namespace fs = std::filesystem;

using EmbeddedOpen = EmbeddedTest;

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Goal: everything acknowledged is there after closing and opening, states, fences and bytes alike.
TEST_F(EmbeddedOpen, KeepsEverythingOverAReopen) {
  open();
  finish(key(1), "first");
  const Fence running = take(key(2));
  ASSERT_TRUE(complete(key(3), take(key(3)), nullptr));
  reopen();
  EXPECT_EQ(*look(key(1)).record.response, *response("first"));
  EXPECT_EQ(look(key(2)).record.state, Record::State::running);
  EXPECT_EQ(look(key(2)).record.fence, running);
  EXPECT_EQ(look(key(3)).record.state, Record::State::unknown);
  EXPECT_TRUE(complete(key(2), running, response("second")));
}

// Goal: what a store keeps is nobody else's business; the folders that it makes let nobody else in.
TEST_F(EmbeddedOpen, MakesFoldersForItsOwnerOnly) {
  options_.path = options_.path / "missing" / "data";
  open();
  for (const fs::path& folder : {options_.path, options_.path.parent_path()}) {
    EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all) << folder;
  }
}

// Goal: two owners of one folder would corrupt it, so the second is told who stands in its way.
TEST_F(EmbeddedOpen, RefusesASecondOwner) {
  open();
  const auto second = try_open();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::unavailable);
  EXPECT_TRUE(mentions(second.error().detail, "another process has the store open")) << second.error().detail;
  EXPECT_TRUE(mentions(second.error().detail, options_.path.string())) << second.error().detail;
}

// Goal: a bit that flipped inside the log refuses to open; the engine's default would drop what follows, silently.
TEST_F(EmbeddedOpen, RefusesALogWithAFlippedBit) {
  open();
  for (std::uint64_t i = 0; i < 200; ++i) finish(key(i), std::string(500, 'x'));
  close();
  const fs::path log = files(".log").back();
  flip_bit(log, fs::file_size(log) / 2);
  const auto opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::corrupt);
}

// Goal: bytes of a write that was never acknowledged may be cut short by a crash; everything before them stays.
TEST_F(EmbeddedOpen, LosesOnlyAnUnfinishedTail) {
  open();
  finish(key(1), "kept");
  close();
  const fs::path log = files(".log").back();
  std::ofstream(log, std::ios::binary | std::ios::app) << std::string("\x12\x34\x56\x78\x00\x20\x01half a record", 20);
  open();
  EXPECT_EQ(look(key(1)).record.response->body, "kept");
  EXPECT_EQ(take(key(2)).number, 1U);
}

// Goal: a log shorter than what had been made durable has lost acknowledged records, so it is not opened.
TEST_F(EmbeddedOpen, RefusesALogThatLostItsDurableEnd) {
  open();
  finish(key(1), "first");
  finish(key(2), "second");
  close();
  const fs::path log = files(".log").back();
  fs::resize_file(log, fs::file_size(log) - 1);
  const auto opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::corrupt);
  EXPECT_TRUE(mentions(opened.error().detail, "had been made durable")) << opened.error().detail;
  EXPECT_TRUE(mentions(opened.error().detail, mark().string())) << opened.error().detail;
}

// Goal: the engine opens a folder without its live log as an older database and says nothing; we do.
TEST_F(EmbeddedOpen, RefusesAMissingLog) {
  open();
  finish(key(1), "first");
  close();
  for (const fs::path& log : files(".log")) fs::remove(log);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto opened = try_open();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Code::corrupt);
    EXPECT_TRUE(mentions(opened.error().detail, "write-ahead log")) << opened.error().detail;
  }
}

// Goal: an operator who accepts the loss does as the message says, and the store works again.
TEST_F(EmbeddedOpen, OpensWithWhatIsLeftOnceTheMarkerIsDeleted) {
  open();
  finish(key(1), "flushed when reopened");
  reopen();
  finish(key(2), "only in the log");
  close();
  for (const fs::path& log : files(".log")) fs::remove(log);
  ASSERT_FALSE(try_open());
  fs::remove(mark());
  open();
  EXPECT_EQ(look(key(1)).record.response->body, "flushed when reopened");
  EXPECT_EQ(take(key(2)).number, 1U);
}

// Goal: a log put in place of the live one (an older copy of the folder's files) is noticed by what it lacks.
TEST_F(EmbeddedOpen, RefusesALaterLogThatLacksWhatWasDurable) {
  open();
  finish(key(1), "first");
  close();
  const fs::path log = files(".log").back();
  fs::rename(log, log.parent_path() / "999999.log");
  fs::resize_file(log.parent_path() / "999999.log", 0);
  const auto opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::corrupt);
  EXPECT_TRUE(mentions(opened.error().detail, "had been made durable")) << opened.error().detail;
}

// Goal: without CURRENT the engine would start an empty database over the old one.
TEST_F(EmbeddedOpen, RefusesAFolderWithoutCurrent) {
  open();
  finish(key(1), "first");
  close();
  fs::remove(options_.path / "CURRENT");
  const auto opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::corrupt);
  EXPECT_TRUE(mentions(opened.error().detail, "CURRENT")) << opened.error().detail;
  fs::remove(mark());
  EXPECT_FALSE(try_open()) << "even without the marker, other files say that there was a store";
}

// Goal: a folder in which only the marker is left is a store that lost everything, not a new one.
TEST_F(EmbeddedOpen, RefusesAFolderInWhichOnlyTheMarkerIsLeft) {
  open();
  finish(key(1), "first");
  close();
  for (const fs::path& file : files("")) {
    if (file != mark()) fs::remove_all(file);
  }
  const auto opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::corrupt);
  EXPECT_TRUE(mentions(opened.error().detail, "delete " + mark().string())) << opened.error().detail;
  fs::remove(mark());
  EXPECT_TRUE(try_open());
}

// Goal: a marker that cannot be read proves nothing, so it is not taken as proof.
TEST_F(EmbeddedOpen, RefusesADamagedMarker) {
  open();
  finish(key(1), "first");
  close();
  flip_bit(mark(), 20);
  open();  // one whole slot is enough
  close();
  flip_bit(mark(), 20);
  flip_bit(mark(), 512 + 20);
  const auto opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::corrupt);
}

// Goal: a first start that was cut short left no records, so it may simply be repeated.
TEST_F(EmbeddedOpen, StartsAgainAfterAFirstStartThatWasCutShort) {
  open();
  close();
  // What is on disk just before the engine writes CURRENT: its first files, and a marker that says: nothing is in it
  // yet.
  for (const fs::path& file : files("")) {
    if (!file.filename().string().starts_with("MANIFEST")) fs::remove_all(file);
  }
  ASSERT_FALSE(try_open()) << "without that marker, the engine's files would be damage";
  {
    auto marker = store::embedded::WalMarker::open(options_.path);
    ASSERT_TRUE(marker && marker->write_synced(store::embedded::Mark{}));
  }
  open();
  EXPECT_EQ(take(key(1)).number, 1U);
}

// Goal: a missing table is damage, not an empty answer.
TEST_F(EmbeddedOpen, RefusesAMissingTable) {
  open();
  finish(key(1), "first");
  reopen();  // recovery puts the records into a table
  close();
  ASSERT_FALSE(files(".sst").empty());
  fs::remove(files(".sst").front());
  const auto opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::corrupt);
}

// Goal: a path that cannot be a folder is said plainly.
TEST_F(EmbeddedOpen, RefusesAPathThatIsAFile) {
  std::ofstream(options_.path).close();
  const auto opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::unavailable);
  EXPECT_TRUE(mentions(opened.error().detail, "is there, but not a folder")) << opened.error().detail;
}

}  // namespace
}  // namespace semel::test
