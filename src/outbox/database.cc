// Numbers are put into the text of a statement, so that BEGIN and what follows it are one message.
#include "outbox/database.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/encoding.h"
#include "outbox/schema.h"
#include "store/postgres/connection.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::outbox {
namespace {

constexpr Millis connect_max{5'000};
constexpr Millis answer_max{30'000};
constexpr Millis lease{3'000};
constexpr std::size_t bytes_max = 16U << 20U;  // of the bodies of a batch

using store::postgres::Row;

std::uint64_t number_in(const std::optional<std::string>& text) {
  std::uint64_t number = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

// `\x` and hexadecimal digits, as the server writes bytes.
std::string bytes_in(const std::optional<std::string>& text) {
  if (!text || !text->starts_with("\\x")) return {};
  return core::from_hex(std::string_view(*text).substr(2)).value_or(std::string());
}

enum RowColumn : std::uint8_t {
  row_seq,
  row_destination,
  row_key,
  row_object,
  row_headers,
  row_raw,
  row_body,
  row_wait
};

OutboxRow row_of(const Row& row) {
  return {.seq = number_in(row[row_seq]),
          .destination = row[row_destination].value_or(""),
          .key = row[row_key].value_or(""),
          .object = row[row_object].value_or(""),
          .headers = row[row_headers].value_or(""),
          .raw = row[row_raw] == "t",
          .body = bytes_in(row[row_body]),
          .wait = Millis{static_cast<Millis::rep>(number_in(row[row_wait]))}};
}

}  // namespace

Result<void> OutboxDatabase::open() {
  Result<store::postgres::DatabaseConnection> made = store::postgres::connect(clock_, url_, connect_max);
  if (!made) return std::unexpected(made.error());
  link_ = *std::move(made);
  const auto there = run("SELECT to_regclass('semel.outbox_version') IS NOT NULL");
  if (!there) return std::unexpected(there.error());
  if (there->front()[0] != "t") {
    close();
    return fail(Code::invalid, "the database has no outbox; run: semel migrate --outbox URL");
  }
  const auto version = run("SELECT max(version) FROM semel.outbox_version");
  if (!version) return std::unexpected(version.error());
  const std::uint64_t found = version->empty() ? 0 : number_in(version->front()[0]);
  if (found == outbox_version) return {};
  close();
  return fail(Code::invalid, "the outbox in the database has version " + std::to_string(found) +
                                 ", and this Semel needs " + std::to_string(outbox_version) +
                                 "; run: semel migrate --outbox URL");
}

void OutboxDatabase::close() {
  link_.reset();
}

// A connection on which something has failed is not used again: nobody knows what is under way there.
Result<std::vector<Row>> OutboxDatabase::run(const std::string& sql) {
  if (link_ == nullptr) return fail(Code::unavailable, "there is no connection");
  auto rows = store::postgres::ask(clock_, link_.get(), sql, {}, answer_max);
  if (!rows) link_.reset();
  return rows;
}

Result<OutboxLook> OutboxDatabase::look() {
  const auto rows =
      run("SELECT semel.outbox_look_v1(" + std::to_string(me_) + "," + std::to_string(lease.count()) + ")");
  if (!rows) return std::unexpected(rows.error());
  return static_cast<OutboxLook>(number_in(rows->front()[0]));
}

Result<std::vector<OutboxRow>> OutboxDatabase::take(std::size_t rows_max) {
  const std::string arguments = std::to_string(me_) + "," + std::to_string(lease.count()) + "," +
                                std::to_string(rows_max) + "," + std::to_string(bytes_max);
  const auto rows = run("BEGIN ISOLATION LEVEL READ COMMITTED; SELECT * FROM semel.outbox_take_v1(" + arguments + ")");
  if (!rows) return std::unexpected(rows.error());
  std::vector<OutboxRow> taken;
  taken.reserve(rows->size());
  for (const Row& row : *rows) taken.push_back(row_of(row));
  return taken;
}

Result<void> OutboxDatabase::commit() {
  const auto done = run("COMMIT");
  if (!done) return std::unexpected(done.error());
  return {};
}

void OutboxDatabase::roll_back() {
  static_cast<void>(run("ROLLBACK"));  // where it cannot be said, the connection is lost, and so is the transaction
}

Result<TableTurn> OutboxDatabase::turn() {
  const auto rows = run("BEGIN ISOLATION LEVEL READ COMMITTED; SELECT semel.outbox_turn_v1(" + std::to_string(me_) +
                        "," + std::to_string(lease.count()) + ")");
  if (!rows) return std::unexpected(rows.error());
  if (const Result<void> ended = commit(); !ended) return std::unexpected(ended.error());
  return static_cast<TableTurn>(number_in(rows->front()[0]));
}

Result<OutboxBacklog> OutboxDatabase::backlog() {
  const auto rows = run("SELECT * FROM semel.outbox_waiting_v1()");
  if (!rows) return std::unexpected(rows.error());
  const Row& row = rows->front();
  if (!row[1]) return OutboxBacklog{};
  return OutboxBacklog{.waiting = number_in(row[0]) - number_in(row[1]) + 1, .oldest_ms = number_in(row[2])};
}

void OutboxDatabase::leave() {
  if (is_open()) static_cast<void>(run("SELECT semel.outbox_leave_v1(" + std::to_string(me_) + ")"));
}

}  // namespace semel::outbox
