// The history of an embedded store is apart from its records: whatever becomes of it, the store opens and every key is
// as it was.

#include "store/history.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "store/embedded/fixture.h"
#include "store/embedded/store.h"
#include "support/run.h"

namespace semel::test {
namespace {

namespace fs = std::filesystem;
using store::HistoryKind;
using store::HistoryRow;

class EmbeddedHistoryTest : public EmbeddedTest {
 protected:
  // The store is open, with a key that has ended, and its history has a row.
  void begin() {
    open_whole();
    finish(key(1), "kept");
    ASSERT_TRUE(append());
  }
  void open_whole() {
    close();
    Result<store::CapableStore> opened = store::embedded::open_with_keys(clock_, options_, {});
    if (!opened) throw std::runtime_error(opened.error().detail);
    history_ = opened->history;
    store_ = std::move(opened->store);
  }
  Result<void> append() {
    std::vector<HistoryRow> rows{{.kind = HistoryKind::sighting, .subject = "s", .at = clock_.now(), .value = "x"}};
    return run(context_, history_->append(std::move(rows)));
  }
  std::size_t rows() {
    const store::HistorySpan always{.from = Time{}, .to = clock_.now() + Millis{1}};
    return run(context_, history_->read(HistoryKind::sighting, "s", always, 10))->size();
  }
  [[nodiscard]] fs::path folder() const { return options_.path / "history"; }

  store::History* history_ = nullptr;
};

// A store of before, which has no such folder, or one whose folder was deleted, opens as ever.
TEST_F(EmbeddedHistoryTest, IsMadeWhereThereIsNone) {
  begin();
  close();
  fs::remove_all(folder());
  open_whole();
  EXPECT_EQ(look(key(1)).record.response->body, "kept");
  EXPECT_EQ(rows(), 0U);
  EXPECT_TRUE(append());
  EXPECT_EQ(rows(), 1U);
}

// A damaged history is set aside, and a new one begun; the records are not touched.
TEST_F(EmbeddedHistoryTest, IsSetAsideWhenItIsDamaged) {
  begin();
  close();
  std::ofstream(folder() / "CURRENT", std::ios::trunc) << "nonsense";
  open_whole();
  EXPECT_EQ(look(key(1)).record.response->body, "kept");
  EXPECT_EQ(rows(), 0U);
  EXPECT_TRUE(append());
  EXPECT_TRUE(fs::exists(folder().string() + ".damaged"));
}

// What is in the way of it goes aside, too, whatever it is.
TEST_F(EmbeddedHistoryTest, TakesItsPlace) {
  begin();
  close();
  fs::remove_all(folder());
  std::ofstream(folder()) << "a file";
  open_whole();
  EXPECT_EQ(look(key(1)).record.response->body, "kept");
  ASSERT_NE(history_, nullptr);
  EXPECT_TRUE(append());
}

// It takes nothing of the last room on the disk, which the records need.
TEST_F(EmbeddedHistoryTest, LeavesTheLastRoomToTheRecords) {
  options_.free_bytes_min = std::uint64_t{1} << 60U;
  open_whole();
  const Result<void> appended = append();
  ASSERT_FALSE(appended);
  EXPECT_EQ(appended.error().code, Code::full);
}

}  // namespace
}  // namespace semel::test
