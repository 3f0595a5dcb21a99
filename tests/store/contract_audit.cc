// The log of what operators did: every entry is there, in order, and each covers the one before it.

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/audit_log.h"
#include "store/contract.h"
#include "support/run.h"

namespace semel::test {
namespace {

std::vector<store::AuditEntry> all_of(boost::asio::io_context& context, store::AuditLog* log) {
  std::vector<store::AuditEntry> all;
  for (;;) {
    const std::uint64_t after = all.empty() ? 0 : all.back().number;
    const Result<std::vector<store::AuditEntry>> page = run(context, log->read(after, 7));
    if (!page) throw std::runtime_error("the log cannot be read: " + page.error().detail);
    if (page->empty()) return all;
    all.insert(all.end(), page->begin(), page->end());
  }
}

void expect_whole(const std::vector<store::AuditEntry>& entries) {
  Digest before{};
  std::uint64_t number = 0;
  for (const store::AuditEntry& entry : entries) {
    EXPECT_EQ(entry.number, ++number);
    EXPECT_EQ(entry.hash, store::audit_hash(before, entry.number, entry.text)) << entry.text;
    before = entry.hash;
  }
}

// Entries of several operators at once are all there, one chain.
TEST_P(StoreContract, TheAuditLogIsAChain) {
  ASSERT_NE(audit_, nullptr);
  const std::size_t before = all_of(context_, audit_).size();
  constexpr std::size_t threads = 4;
  constexpr int each = 6;
  crew_.run(threads, [&](std::size_t thread, boost::asio::io_context& context) {
    for (int i = 0; i < each; ++i) {
      const std::string text = R"({"act":")" + std::to_string(thread) + "/" + std::to_string(i) + R"("})";
      const Result<store::AuditEntry> added = run(context, audit_->append(text));
      ASSERT_TRUE(added) << added.error().detail;
      EXPECT_EQ(added->text, text);
    }
  });
  const std::vector<store::AuditEntry> all = all_of(context_, audit_);
  EXPECT_EQ(all.size(), before + (threads * each));
  expect_whole(all);
}

// The chain goes on when the store is opened again.
TEST_P(ReopenContract, TheAuditLogGoesOn) {
  const std::size_t before = all_of(context_, audit_).size();
  ASSERT_TRUE(run(context_, audit_->append("{}")));
  reopen();
  ASSERT_TRUE(run(context_, audit_->append(R"({"second":true})")));
  const std::vector<store::AuditEntry> all = all_of(context_, audit_);
  EXPECT_EQ(all.size(), before + 2);
  EXPECT_EQ(all.back().text, R"({"second":true})");
  expect_whole(all);
}

}  // namespace
}  // namespace semel::test
