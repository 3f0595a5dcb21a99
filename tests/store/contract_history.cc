// What a store remembers of what was seen over time.

#include <cstddef>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "store/backends.h"
#include "store/contract.h"
#include "store/history.h"
#include "support/run.h"

namespace semel::test {
namespace {

using store::HistoryKind;
using store::HistoryRow;
using store::HistorySpan;

constexpr Millis hour{3'600'000};
constexpr Millis day{24 * hour};
constexpr Time monday{20'000 * day};
constexpr HistorySpan always{.from = Time{}, .to = monday + 1'000 * day};

HistoryRow row(std::string subject, Time at, std::string value, HistoryKind kind = HistoryKind::sighting) {
  return {.kind = kind, .subject = std::move(subject), .at = at, .value = std::move(value)};
}

// The history of the store under test, as a test uses it.
class Remembered {
 public:
  Remembered(boost::asio::io_context& context, store::History* history) : context_(context), history_(history) {
    if (history == nullptr) throw std::runtime_error("the store has no history");
  }

  void append(std::vector<HistoryRow> rows) {
    const Result<void> appended = try_append(std::move(rows));
    if (!appended) throw std::runtime_error("it cannot be written: " + appended.error().detail);
  }
  Result<void> try_append(std::vector<HistoryRow> rows) { return run(context_, history_->append(std::move(rows))); }

  std::vector<std::string> read(const std::string& subject, HistorySpan span = always, std::size_t limit = 1'000,
                                HistoryKind kind = HistoryKind::sighting) {
    Result<std::vector<HistoryRow>> rows = run(context_, history_->read(kind, subject, span, limit));
    if (!rows) throw std::runtime_error("it cannot be read: " + rows.error().detail);
    std::vector<std::string> values;
    for (const HistoryRow& each : *rows) {
      EXPECT_EQ(each.subject, subject);
      EXPECT_TRUE(span.holds(each.at));
      values.push_back(each.value);
    }
    return values;
  }

  // All pages.
  std::vector<HistoryRow> scan(HistorySpan span, std::size_t limit, HistoryKind kind = HistoryKind::sighting) {
    std::vector<HistoryRow> all;
    std::string cursor;
    for (int pages = 0; pages < 1'000; ++pages) {
      Result<store::HistoryPage> page = run(context_, history_->scan(kind, span, cursor, limit));
      if (!page) throw std::runtime_error("it cannot be scanned: " + page.error().detail);
      if (page->rows.size() > limit) throw std::runtime_error("the page is too long");
      for (HistoryRow& each : page->rows) all.push_back(std::move(each));
      cursor = page->cursor;
      if (cursor.empty()) return all;
    }
    throw std::runtime_error("the scan does not end");
  }

  void prune(Time before, HistoryKind kind = HistoryKind::sighting) {
    const Result<void> pruned = run(context_, history_->prune(kind, before));
    if (!pruned) throw std::runtime_error("it cannot be pruned: " + pruned.error().detail);
  }

  std::string refusal_of(const std::string& cursor) {
    return std::string(said(run(context_, history_->scan(HistoryKind::sighting, always, cursor, 10))));
  }

 private:
  boost::asio::io_context& context_;
  store::History* history_;
};

using Values = std::vector<std::string>;

class HistoryContract : public StoreContract {};

// The rows of a subject come back in the order of time, over days, whatever the order in which they were added, and
// those of others do not.
TEST_P(HistoryContract, ARowIsReadBySubjectInTheOrderOfTime) {
  Remembered history(context_, kept_);
  history.append({row("b", monday + 3 * day, "late"), row("b", monday, "first")});
  history.append({row("a", monday + hour, "a"), row("bb", monday + hour, "bb"), row("c", monday + hour, "c")});
  history.append({row("b", monday + hour, "second"), row("b", monday + 5 * day, "latest")});
  EXPECT_EQ(history.read("b"), (Values{"first", "second", "late", "latest"}));
  EXPECT_EQ(history.read("b", {.from = monday + Millis{1}, .to = monday + 3 * day}), Values{"second"});
  EXPECT_EQ(history.read("b", {.from = monday + hour, .to = monday + 5 * day}), (Values{"second", "late"}));
  EXPECT_EQ(history.read("b", always, 2), (Values{"first", "second"}));
  EXPECT_EQ(history.read("a"), Values{"a"});
  EXPECT_TRUE(history.read("nobody").empty());
  EXPECT_TRUE(history.read("b", always, 10, HistoryKind::finding).empty());
}

// Any bytes will do as a subject or a value; an empty value is a value.
TEST_P(HistoryContract, ARowHoldsAnyBytes) {
  Remembered history(context_, kept_);
  const std::string subject("\0\xff\x01 key", 7);
  std::string value("\0\xff", 2);
  value.append(100'000, '\xe9');
  history.append({row(subject, monday, value), row("empty", monday, "")});
  EXPECT_EQ(history.read(subject), Values{value});
  EXPECT_EQ(history.read("empty"), Values{""});
}

// Two rows of one subject and one moment are two, unless they say that they are the same: then the last is kept.
TEST_P(HistoryContract, RowsOfOneMomentAreKeptApartByTheirNumbers) {
  Remembered history(context_, kept_);
  history.append({row("a", monday, "x"), row("a", monday, "x")});
  history.append({row("a", monday, "x")});
  EXPECT_EQ(history.read("a").size(), 3U);
  HistoryRow first = row("b", monday, "y");
  first.number = 7;
  HistoryRow last = first;
  last.value = "z";
  history.append({first});
  history.append({first, last});
  EXPECT_EQ(history.read("b"), Values{"z"});
}

// A scan comes by every row of its span once, page by page, and by nothing else.
TEST_P(HistoryContract, AScanComesByEveryRowOnce) {
  Remembered history(context_, kept_);
  std::vector<HistoryRow> rows;
  std::set<std::string> wanted;
  for (int i = 0; i < 300; ++i) {
    const Time at = monday + i * 30 * Millis{60'000};
    rows.push_back(row("s" + std::to_string(i % 7), at, std::to_string(i)));
    if (at >= monday + day && at < monday + 4 * day) wanted.insert(std::to_string(i));
  }
  rows.push_back(row("s1", monday + day, "of another kind", HistoryKind::finding));
  history.append(std::move(rows));
  for (const std::size_t limit : {std::size_t{1}, std::size_t{10}, std::size_t{10'000}}) {
    std::set<std::string> seen;
    const std::vector<HistoryRow> found = history.scan({.from = monday + day, .to = monday + 4 * day}, limit);
    for (const HistoryRow& each : found) seen.insert(each.value);
    EXPECT_EQ(found.size(), seen.size());
    EXPECT_EQ(seen, wanted);
  }
  EXPECT_TRUE(history.scan({.from = monday - 9 * day, .to = monday}, 10).empty());
}

// Old days are dropped as a whole, and only those of one kind.
TEST_P(HistoryContract, PruningDropsWholeDays) {
  Remembered history(context_, kept_);
  history.append({row("a", monday - day, "sunday"), row("a", monday, "monday"), row("a", monday + day, "tuesday"),
                  row("b", monday - 9 * day, "old"), row("a", monday - day, "other", HistoryKind::finding)});
  history.prune(monday + hour);
  EXPECT_EQ(history.read("a"), (Values{"monday", "tuesday"}));
  EXPECT_TRUE(history.read("b").empty());
  EXPECT_EQ(history.read("a", always, 10, HistoryKind::finding), Values{"other"});
  EXPECT_EQ(history.scan(always, 10).size(), 2U);
  history.prune(monday + hour);
  history.append({row("b", monday + hour, "new")});
  EXPECT_EQ(history.read("b"), Values{"new"});
}

// What is too much is refused as a whole, and so is a cursor that no scan gave.
TEST_P(HistoryContract, WhatIsTooLargeForTheHistoryIsRefused) {
  Remembered history(context_, kept_);
  EXPECT_EQ(said(history.try_append({row(std::string(129, 's'), monday, "x")})), "invalid");
  EXPECT_EQ(said(history.try_append({row("s", monday, std::string(600'000, 'x'))})), "invalid");
  EXPECT_EQ(said(history.try_append({row("s", Time{Millis{-1}}, "x")})), "invalid");
  EXPECT_EQ(said(history.try_append(std::vector<HistoryRow>(10'001, row("s", monday, "x")))), "invalid");
  EXPECT_EQ(said(history.try_append({})), "ok");
  EXPECT_TRUE(history.read("s").empty());
  for (const char* const cursor : {"x", "1.2", "1.2.zz", "1.x.00", ".."})
    EXPECT_EQ(history.refusal_of(cursor), "invalid");
}

// The history is there when the store is opened again, if anything is.
TEST_P(HistoryContract, StaysAsLongAsTheKeysDo) {
  Remembered(context_, kept_).append({row("a", monday, "kept")});
  reopen();
  const Values left = GetParam().memory == Memory::keeps ? Values{"kept"} : Values{};
  EXPECT_EQ(Remembered(context_, kept_).read("a"), left);
}

INSTANTIATE_TEST_SUITE_P(Stores, HistoryContract, testing::ValuesIn(backends_with(Telling::history)),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace semel::test
