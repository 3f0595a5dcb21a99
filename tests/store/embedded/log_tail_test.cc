// Where a log ends after a crash. The logs are real ones, taken from under an open store as a crash would leave them.
#include "store/embedded/log_tail.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/embedded/fixture.h"

namespace semel::test {
namespace {

namespace fs = std::filesystem;

// Text that does not compress, so that a long body makes a long record.
std::string noise(std::size_t size) {
  std::minstd_rand random;
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>('!' + random() % 90);
  return text;
}

class LogTail : public EmbeddedTest {
 protected:
  // Finishes a key with a body of `size` bytes, and notes where the log ends now.
  void write(std::size_t size) {
    finish(key(ends_.size()), noise(size));
    ends_.push_back(store::embedded::end_of_log(log(), 0).value());
  }

  std::string log() const {
    std::ifstream file(files(".log").back(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // What the disk holds if the process is killed now. The store of this test goes on from there.
  void crash() {
    const fs::path left = options_.path.string() + "-left";
    fs::copy(options_.path, left, fs::copy_options::recursive);
    close();
    fs::remove_all(options_.path);
    fs::rename(left, options_.path);
  }

  void overwrite_log(const std::string& bytes) const { std::ofstream(files(".log").back(), std::ios::binary) << bytes; }

  std::vector<std::uint64_t> ends_;
};

// Goal: a live log is longer than its records, and its end is found all the same, from its start and from any record.
TEST_F(LogTail, EndsBehindTheLastRecord) {
  open();
  for (const std::size_t size : {0U, 100U, 40'000U, 7U, 100'000U}) write(size);
  const std::string bytes = log();
  ASSERT_GT(bytes.size(), ends_.back());
  EXPECT_NE(bytes[ends_.back() - 1], '\0');
  EXPECT_EQ(bytes.find_first_not_of('\0', ends_.back()), std::string::npos);
  for (std::size_t i = 1; i < ends_.size(); ++i) {
    EXPECT_GT(ends_[i], ends_[i - 1]);
    EXPECT_EQ(store::embedded::end_of_log(bytes, ends_[i - 1]), ends_.back());
  }
}

// Goal: a store that was killed opens with all that was acknowledged, and goes on.
TEST_F(LogTail, IsCutWhenAKilledStoreOpens) {
  open();
  for (const std::size_t size : {10U, 40'000U, 20U}) write(size);
  crash();
  open();
  for (std::uint64_t i = 0; i < ends_.size(); ++i) EXPECT_EQ(look(key(i)).record.state, Record::State::done);
  write(10);
  reopen();
  EXPECT_EQ(look(key(3)).record.response->body, noise(10));
}

// Goal: wherever the last record was torn, it goes, and what is in front of it stays.
TEST_F(LogTail, LosesATornRecordAndNothingElse) {
  open();
  write(300);
  write(200);
  const std::string whole = log();
  // The last commit of a key is its completion; where its record begins is where the log ends without it.
  std::string bytes = whole;
  bytes[ends_.back() - 1] ^= 1;
  const std::uint64_t begin = store::embedded::end_of_log(bytes, 0).value();
  ASSERT_GT(begin, ends_.front());
  ASSERT_LT(begin, ends_.back());
  for (std::uint64_t torn = begin; torn < ends_.back(); ++torn) {
    bytes = whole;
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(torn), bytes.end(), '\0');
    EXPECT_EQ(store::embedded::end_of_log(bytes, 0), begin) << torn;
    EXPECT_EQ(store::embedded::end_of_log(bytes, ends_.front()), begin) << torn;
    EXPECT_EQ(store::embedded::end_of_log(whole.substr(0, torn), 0), begin) << torn;
  }
}

// Goal: pages reach the disk in any order, so a hole anywhere in a long record means that it was torn.
TEST_F(LogTail, TakesAHoleInTheLastRecordForATornOne) {
  constexpr std::uint64_t sector = 512;
  open();
  write(10);
  write(150'000);
  const std::string whole = log();
  std::string bytes = whole;
  bytes[ends_.back() - 1] ^= 1;
  const std::uint64_t begin = store::embedded::end_of_log(bytes, 0).value();
  for (std::uint64_t hole = begin / sector + 1; (hole + 1) * sector < ends_.back(); ++hole) {
    bytes = whole;
    bytes.replace(hole * sector, sector, sector, '\0');
    EXPECT_EQ(store::embedded::end_of_log(bytes, 0), begin) << hole;
  }
}

// Goal: what is broken in front of a whole record was acknowledged once: that is damage, and nothing is cut.
TEST_F(LogTail, RefusesDamageInFrontOfAWholeRecord) {
  open();
  for (const std::size_t size : {300U, 40'000U, 300U}) write(size);
  const std::string whole = log();
  for (const std::uint64_t at : {std::uint64_t{20}, ends_[0] + 500, ends_[1] - 100}) {
    std::string bytes = whole;
    bytes[at] ^= 4;
    const auto end = store::embedded::end_of_log(bytes, 0);
    ASSERT_FALSE(end) << at;
    EXPECT_EQ(end.error().code, Code::corrupt);
  }
  crash();
  std::string bytes = log();
  bytes[ends_[0] + 500] ^= 4;
  overwrite_log(bytes);
  fs::remove(mark());  // as if it were older than the damage
  const auto opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::corrupt);
  EXPECT_EQ(log(), bytes);
}

// Goal: what the marker has seen on the disk is never cut, torn as it may look.
TEST_F(LogTail, LeavesWhatTheMarkerVouchesFor) {
  open();
  write(300);
  write(300);
  crash();
  std::string bytes = log();
  bytes[ends_.back() - 1] ^= 1;
  overwrite_log(bytes);
  const auto opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::corrupt);
}

// Goal: a record that was torn by a power cut, under a marker that is older than it, costs only itself.
TEST_F(LogTail, IsCutWhenThePowerWent) {
  open();
  write(300);
  const fs::path old = options_.path.string() + ".mark";
  fs::copy(mark(), old);
  write(150'000);
  crash();
  fs::rename(old, mark());
  std::string bytes = log();
  bytes.replace(ends_.back() - 60'000, 4'096, 4'096, '\0');
  overwrite_log(bytes);
  open();
  EXPECT_EQ(look(key(0)).record.state, Record::State::done);
  EXPECT_EQ(look(key(1)).record.state, Record::State::running);  // its claim was whole
}

}  // namespace
}  // namespace semel::test
