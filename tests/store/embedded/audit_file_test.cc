// The file of the audit log: a page costs what it shows, wherever it begins, and another file in its place is noticed.
#include "store/embedded/audit_file.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/encoding.h"
#include "store/audit_log.h"
#include "store/embedded/fixture.h"
#include "support/run.h"
#include <semel/key.h>
#include <semel/result.h>

namespace semel::test {
namespace {

using store::AuditEntry;

class AuditFiles : public EmbeddedTest {
 protected:
  AuditFiles() { std::filesystem::create_directories(options_.path); }

  // A whole chain of so many entries, in place of what is there.
  void write(std::uint64_t count, const std::string& word) {
    std::ofstream file(path(), std::ios::trunc | std::ios::binary);
    Digest hash{};
    for (std::uint64_t number = 1; number <= count; ++number) {
      const std::string text = word + " " + std::to_string(number);
      hash = store::audit_hash(hash, number, text);
      file << number << ' ' << core::to_hex(hash) << ' ' << text << '\n';
    }
  }
  [[nodiscard]] std::filesystem::path path() const { return options_.path / "semel.audit"; }

  Result<std::vector<AuditEntry>> read(std::uint64_t after, std::size_t limit) {
    return run(context_, log_.read(after, limit));
  }
  std::vector<std::uint64_t> numbers(std::uint64_t after, std::size_t limit) {
    std::vector<std::uint64_t> found;
    const Result<std::vector<AuditEntry>> entries = read(after, limit);
    if (!entries) return found;
    for (const AuditEntry& entry : *entries) found.push_back(entry.number);
    return found;
  }

  store::embedded::AuditFile log_{options_.path};
};

using Numbers = std::vector<std::uint64_t>;

// Goal: every page holds what is behind its number, in whatever order pages are read.
TEST_F(AuditFiles, PagesBeginAnywhere) {
  EXPECT_EQ(numbers(0, 10), Numbers{}) << "there is no file yet";
  write(3'000, "act");
  EXPECT_EQ(numbers(0, 2), (Numbers{1, 2}));
  EXPECT_EQ(numbers(2'998, 10), (Numbers{2'999, 3'000}));
  EXPECT_EQ(numbers(255, 3), (Numbers{256, 257, 258}));
  EXPECT_EQ(numbers(256, 3), (Numbers{257, 258, 259}));
  EXPECT_EQ(numbers(257, 1), Numbers{258});
  EXPECT_EQ(numbers(3'000, 10), Numbers{});
  EXPECT_EQ(numbers(9'999, 10), Numbers{});
  EXPECT_EQ(numbers(0, 5'000).size(), 3'000U);
}

// Goal: a page does not read what stands before it, once that is known. What stands there is spoilt to see it.
TEST_F(AuditFiles, APageDoesNotReadWhatStandsBeforeIt) {
  write(3'000, "act");
  ASSERT_EQ(numbers(2'900, 1), Numbers{2'901});
  {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file << "spoilt";
  }
  EXPECT_EQ(numbers(2'900, 2), (Numbers{2'901, 2'902}));
  const Result<std::vector<AuditEntry>> first = read(0, 1);
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, Code::corrupt);
}

// Goal: a file that was moved away and begun anew is read as it is now, and what is added goes behind it.
TEST_F(AuditFiles, AnotherFileInItsPlaceIsNoticed) {
  write(3'000, "act");
  ASSERT_EQ(numbers(2'900, 1), Numbers{2'901});
  std::filesystem::remove(path());
  write(600, "a longer word, so that places differ");
  EXPECT_EQ(numbers(2'900, 1), Numbers{});
  EXPECT_EQ(numbers(550, 2), (Numbers{551, 552}));
  const Result<AuditEntry> added = run(context_, log_.append("one more"));
  ASSERT_TRUE(added);
  EXPECT_EQ(added->number, 601U);
  EXPECT_EQ(numbers(599, 5), (Numbers{600, 601}));
}

}  // namespace
}  // namespace semel::test
