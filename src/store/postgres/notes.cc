// Each call is one statement, on a connection of its own (late_driver.h).
#include "store/postgres/notes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <libpq-fe.h>

#include "store/call.h"
#include "store/notes.h"
#include "store/postgres/inbox_statements.h"
#include "store/postgres/parameters.h"
#include "store/postgres/sql.h"
#include <semel/async.h>
#include <semel/result.h>

namespace semel::store::postgres {
namespace {

constexpr char behind_all = '\x7F';  // no name has it

std::vector<StoredNote> notes_in(const PGresult* reply) {
  const int rows = PQntuples(reply);
  std::vector<StoredNote> notes;
  notes.reserve(static_cast<std::size_t>(rows));
  for (int row = 0; row < rows; ++row) {
    notes.push_back({.name = std::string(value_of(reply, row, 0)),
                     .value = std::string(value_of(reply, row, 2)),
                     .version = static_cast<std::uint64_t>(number_of(value_of(reply, row, 1)))});
  }
  return notes;
}

}  // namespace

Async<std::vector<StoredNote>> PostgresNotes::ask(NameRange names, std::size_t limit) {
  std::vector<StoredNote> found;
  const auto fill = [&](Parameters& parameters) {
    parameters.add(names.first);
    parameters.add(names.last);
    parameters.add(names.behind);
    parameters.add(static_cast<std::int64_t>(limit));
  };
  const auto see = [&](const PGresult* reply) { found = notes_in(reply); };
  PlainStep step(read_notes_sql, fill, see);
  StoreCall call;
  auto& request = call.request.emplace<StepCall>();
  Result<void> asked = co_await driver_.submit(&call, &step);
  if (asked) asked = std::move(request.answer);
  if (!asked) co_return std::unexpected(std::move(asked.error()));
  co_return found;
}

Async<std::optional<StoredNote>> PostgresNotes::read(std::string name) {
  NameRange one{.first = name, .last = name, .behind = {}};
  Result<std::vector<StoredNote>> found = co_await ask(std::move(one), 1);
  if (!found) co_return std::unexpected(std::move(found.error()));
  if (found->empty()) co_return std::optional<StoredNote>();
  co_return std::optional<StoredNote>(std::move(found->front()));
}

Async<std::uint64_t> PostgresNotes::write(NoteChange change) {
  if (Result<void> sound = check_note(change); !sound) co_return std::unexpected(std::move(sound.error()));
  const std::uint64_t fresh = change.value ? random_note_version() : 0;
  std::int64_t verdict = 1;
  const auto fill = [&](Parameters& parameters) {
    parameters.add(change.name);
    parameters.add(static_cast<std::int64_t>(change.over));
    parameters.add(static_cast<std::int64_t>(fresh));
    if (change.value) parameters.add_bytes(*change.value);
    if (!change.value) parameters.add_null_bytes();
  };
  const auto see = [&](const PGresult* reply) { verdict = number_of(value_of(reply, 0, 0)); };
  PlainStep step(write_note_sql, fill, see);
  StoreCall call;
  auto& request = call.request.emplace<StepCall>();
  Result<void> asked = co_await driver_.submit(&call, &step);
  if (asked) asked = std::move(request.answer);
  if (!asked) co_return std::unexpected(std::move(asked.error()));
  if (verdict != 0) co_return note_has_changed();
  co_return fresh;
}

Async<NotePage> PostgresNotes::list(std::string prefix, std::string cursor, std::size_t limit) {
  if (Result<void> sound = check_note_list(prefix, cursor); !sound) co_return std::unexpected(std::move(sound.error()));
  limit = std::min(limit, notes_listed_max);
  NameRange range{.first = prefix, .last = prefix + behind_all, .behind = cursor};
  Result<std::vector<StoredNote>> found = co_await ask(std::move(range), limit + 1);
  if (!found) co_return std::unexpected(std::move(found.error()));
  NotePage page{.items = *std::move(found), .cursor = {}};
  if (page.items.size() <= limit) co_return page;
  page.items.resize(limit);
  page.cursor = page.items.empty() ? std::move(cursor) : page.items.back().name;
  co_return page;
}

}  // namespace semel::store::postgres
