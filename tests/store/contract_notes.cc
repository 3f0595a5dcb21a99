// Small named values: what was written is there, and of several writers one wins.

#include <atomic>
#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "store/backends.h"
#include "store/contract.h"
#include "store/notes.h"
#include "support/run.h"

namespace semel::test {
namespace {

using store::NoteChange;
using store::NotePage;
using store::StoredNote;

// Those of the store under test, as a test uses them.
class Written {
 public:
  Written(boost::asio::io_context& context, store::Notes* notes) : context_(context), notes_(notes) {
    if (notes == nullptr) throw std::runtime_error("the store has no notes");
  }

  std::optional<StoredNote> read(const std::string& name) {
    Result<std::optional<StoredNote>> found = run(context_, notes_->read(name));
    if (!found) throw std::runtime_error("it cannot be read: " + found.error().detail);
    return *std::move(found);
  }
  std::string value(const std::string& name) {
    const std::optional<StoredNote> note = read(name);
    return note ? note->value : "(none)";
  }
  Result<std::uint64_t> write(const std::string& name, std::optional<std::string> value, std::uint64_t over) {
    return run(context_, notes_->write(NoteChange{.name = name, .value = std::move(value), .over = over}));
  }
  std::uint64_t put(const std::string& name, std::string value, std::uint64_t over = 0) {
    const Result<std::uint64_t> written = write(name, std::move(value), over);
    if (!written) throw std::runtime_error("it cannot be written: " + written.error().detail);
    return *written;
  }
  Result<NotePage> list(const std::string& prefix, const std::string& cursor, std::size_t limit) {
    return run(context_, notes_->list(prefix, cursor, limit));
  }

 private:
  boost::asio::io_context& context_;
  store::Notes* const notes_;
};

class NotesContract : public StoreContract {
 protected:
  Written notes() { return {context_, notes_}; }
};

// A value of any bytes comes back, with the version that its write returned.
TEST_P(NotesContract, WhatWasWrittenIsRead) {
  EXPECT_FALSE(notes().read("audit/none"));
  std::string value("a\0b\xFF\n", 5);
  const std::uint64_t version = notes().put("audit/one", value);
  EXPECT_NE(version, 0U);
  const std::optional<StoredNote> note = notes().read("audit/one");
  ASSERT_TRUE(note);
  EXPECT_EQ(note->name, "audit/one");
  EXPECT_EQ(note->value, value);
  EXPECT_EQ(note->version, version);
  EXPECT_EQ(notes().put("audit/empty", "") == 0, false);
  EXPECT_EQ(notes().value("audit/empty"), "");
}

// A write that goes by an old version changes nothing.
TEST_P(NotesContract, OnlyTheVersionThatWasReadIsReplaced) {
  const std::uint64_t first = notes().put("mark", "1");
  EXPECT_EQ(said(notes().write("mark", "other", 0)), "fenced");
  const std::uint64_t second = notes().put("mark", "2", first);
  EXPECT_NE(first, second);
  EXPECT_EQ(said(notes().write("mark", "other", first)), "fenced");
  EXPECT_EQ(said(notes().write("mark", std::nullopt, first)), "fenced");
  EXPECT_EQ(said(notes().write("absent", "other", first)), "fenced");
  EXPECT_EQ(notes().value("mark"), "2");
  EXPECT_FALSE(notes().read("absent"));
}

// A note that has gone is absent, and can be made again. To remove it once more succeeds.
TEST_P(NotesContract, ANoteCanGo) {
  const std::uint64_t version = notes().put("gone", "1");
  EXPECT_EQ(said(notes().write("gone", std::nullopt, version)), "ok");
  EXPECT_FALSE(notes().read("gone"));
  EXPECT_EQ(said(notes().write("gone", std::nullopt, version)), "ok");
  notes().put("gone", "2");
  EXPECT_EQ(notes().value("gone"), "2");
}

// Of any number of writers that replace one version, one does.
TEST_P(NotesContract, OneOfSeveralWritersWins) {
  std::uint64_t version = notes().put("race", "start");
  constexpr std::size_t writers = 4;
  for (int round = 0; round < 5; ++round) {
    std::atomic<int> won = 0;
    std::atomic<int> lost = 0;
    crew_.run(writers, [&](std::size_t writer, boost::asio::io_context& context) {
      NoteChange change{.name = "race", .value = std::to_string(writer), .over = version};
      const Result<std::uint64_t> written = run(context, notes_->write(std::move(change)));
      ++(written ? won : lost);
      if (!written) EXPECT_EQ(said(written), "fenced") << written.error().detail;
    });
    EXPECT_EQ(won, 1);
    EXPECT_EQ(lost, static_cast<int>(writers) - 1);
    version = notes().read("race")->version;
  }
}

// Of any number of writers that make a note, one does.
TEST_P(NotesContract, ANoteIsMadeOnce) {
  std::atomic<int> won = 0;
  crew_.run(4, [&](std::size_t writer, boost::asio::io_context& context) {
    NoteChange change{.name = "made", .value = std::to_string(writer), .over = 0};
    won += run(context, notes_->write(std::move(change))) ? 1 : 0;
  });
  EXPECT_EQ(won, 1);
}

// A list has what begins with the prefix, in order, in pages; nothing twice and nothing left out.
TEST_P(NotesContract, AListGoesPageByPage) {
  for (const char* name : {"l/b", "l/a", "l/~", "l/c/d", "l", "k/z", "m"}) notes().put(name, name);
  std::vector<std::string> names;
  std::string cursor;
  int pages = 0;
  do {
    const Result<NotePage> page = notes().list("l/", cursor, 3);
    ASSERT_TRUE(page) << page.error().detail;
    EXPECT_LE(page->items.size(), 3U);
    for (const StoredNote& note : page->items) {
      names.push_back(note.name);
      EXPECT_EQ(note.value, note.name);
      EXPECT_NE(note.version, 0U);
    }
    cursor = page->cursor;
    ++pages;
  } while (!cursor.empty() && pages < 10);
  EXPECT_EQ(names, (std::vector<std::string>{"l/a", "l/b", "l/c/d", "l/~"}));
  EXPECT_EQ(pages, 2);
  EXPECT_EQ(said(notes().list("l/", "m", 3)), "invalid");
}

// What is too large, or is no name, is refused before anything is written.
TEST_P(NotesContract, RefusesWhatIsNoNote) {
  EXPECT_EQ(said(notes().write("", "x", 0)), "invalid");
  EXPECT_EQ(said(notes().write("a b", "x", 0)), "invalid");
  EXPECT_EQ(said(notes().write(std::string(201, 'n'), "x", 0)), "invalid");
  EXPECT_EQ(said(notes().write("large", std::string((64U << 10U) + 1, 'x'), 0)), "invalid");
  EXPECT_EQ(said(notes().write("large", std::string(64U << 10U, 'x'), 0)), "ok");
  EXPECT_EQ(notes().value("large").size(), 64U << 10U);
}

// They are durable, where anything is.
TEST_P(NotesContract, AreThereAfterTheStoreWasOpenedAgain) {
  const std::uint64_t version = notes().put("kept", "value");
  reopen();
  const std::optional<StoredNote> note = notes().read("kept");
  ASSERT_EQ(note.has_value(), GetParam().memory == Memory::keeps);
  if (!note) return;
  EXPECT_EQ(note->value, "value");
  EXPECT_EQ(note->version, version);
}

// The stores that keep a history keep notes, too.
INSTANTIATE_TEST_SUITE_P(Stores, NotesContract, testing::ValuesIn(backends_with(Telling::history)),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace semel::test
