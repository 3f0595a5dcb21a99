// A row is a key and a value; everything but opening is done on the thread of aside_.
#include "store/embedded/history.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/iterator.h>
#include <rocksdb/options.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include "store/desk.h"
#include "store/embedded/engine_log.h"
#include "store/embedded/history_key.h"
#include "store/history.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::embedded {
namespace {

constexpr std::size_t buffer_bytes = 4U << 20U;
constexpr std::size_t cache_bytes = 4U << 20U;
constexpr std::size_t log_bytes_max = 16U << 20U;
constexpr std::size_t looks_between_clocks = 256;

rocksdb::Options options_of(const std::filesystem::path& folder) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(cache_bytes);
  table.cache_index_and_filter_blocks = true;
  table.format_version = 5;
  table.checksum = rocksdb::ChecksumType::kXXH3;

  rocksdb::Options options;
  options.create_if_missing = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.write_buffer_size = buffer_bytes;
  options.max_total_wal_size = log_bytes_max;
  options.compression = rocksdb::CompressionType::kNoCompression;
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;  // what comes before a damage is enough
  options.max_background_jobs = 1;                                             // the records need the disk more
  options.max_open_files = 64;
  options.avoid_flush_during_shutdown = true;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.bytes_per_sync = 1U << 20U;
  options.max_manifest_file_size = 1U << 20U;
  options.info_log = std::make_shared<EngineLog>(folder);
  return options;
}

std::unique_ptr<rocksdb::DB> open_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return nullptr;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(options_of(folder), folder.string(), &db);
  return std::unique_ptr<rocksdb::DB>(status.ok() ? db : nullptr);
}

std::unexpected<Error> unreadable(const rocksdb::Status& status) {
  return fail(Code::unavailable, "the history cannot be read: " + status.ToString());
}

HistoryRow row_of(HistoryKind kind, HistoryPlace place, const rocksdb::Slice& value) {
  return {.kind = kind,
          .subject = std::move(place.subject),
          .at = place.at,
          .value = value.ToString(),
          .number = place.number};
}

std::string_view view(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

}  // namespace

std::unique_ptr<EmbeddedHistory> EmbeddedHistory::open(const Clock& clock, const std::filesystem::path& folder,
                                                       std::uint64_t free_bytes_min) {
  std::unique_ptr<rocksdb::DB> db = open_folder(folder);
  if (db == nullptr) {
    const std::filesystem::path aside = folder.string() + ".damaged";
    std::error_code error;
    std::filesystem::remove_all(aside, error);
    std::filesystem::rename(folder, aside, error);
    if (!error) db = open_folder(folder);
  }
  if (db == nullptr) return nullptr;
  return std::unique_ptr<EmbeddedHistory>(new EmbeddedHistory(clock, std::move(db), folder, free_bytes_min));
}

Async<void> EmbeddedHistory::append(std::vector<HistoryRow> rows) {
  Result<std::vector<HistoryRow>> prepared = prepared_rows(std::move(rows));
  if (!prepared) co_return std::unexpected(std::move(prepared.error()));
  Result<void> appended;
  const auto work = [&] { appended = append_now(*prepared); };
  co_await aside_.run(work);
  co_return appended;
}

Async<std::vector<HistoryRow>> EmbeddedHistory::read(HistoryKind kind, std::string subject, HistorySpan span,
                                                     std::size_t limit) {
  Result<std::vector<HistoryRow>> found;
  const auto work = [&] { found = read_now(kind, subject, span, limit); };
  co_await aside_.run(work);
  co_return found;
}

Async<HistoryPage> EmbeddedHistory::scan(HistoryKind kind, HistorySpan span, std::string cursor, std::size_t limit) {
  Result<HistoryPage> page;
  const auto work = [&] { page = scan_now(kind, span, cursor, limit); };
  co_await aside_.run(work);
  co_return page;
}

Async<void> EmbeddedHistory::prune(HistoryKind kind, Time before) {
  Result<void> pruned;
  const auto work = [&] { pruned = prune_now(kind, before); };
  co_await aside_.run(work);
  co_return pruned;
}

Result<void> EmbeddedHistory::append_now(const std::vector<HistoryRow>& rows) {
  if (Result<void> room = space_.check(); !room) return room;
  space_.ask_again();
  rocksdb::WriteBatch batch;
  for (const HistoryRow& row : rows) {
    const HistoryPlace place{.subject = row.subject, .at = row.at, .number = row.number};
    batch.Put(history_key(row.kind, place), row.value).PermitUncheckedError();  // it only grows in memory
  }
  const rocksdb::Status written = db_->Write({}, &batch);
  if (written.ok()) return {};
  return fail(Code::unavailable, "the history cannot be written: " + written.ToString());
}

// From day to day: where a day has nothing of the subject, the next key says which day comes next.
Result<std::vector<HistoryRow>> EmbeddedHistory::read_now(HistoryKind kind, const std::string& subject,
                                                          HistorySpan span, std::size_t limit) const {
  std::vector<HistoryRow> found;
  const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator({}));
  const HistoryPlace first{.subject = subject, .at = span.from, .number = 0};
  std::int64_t day = history_day(span.from);
  it->Seek(history_key(kind, first));
  while (it->Valid() && found.size() < limit) {
    std::optional<ParsedHistoryKey> key = parse_history_key(kind, view(it->key()));
    if (!key || key->day > history_day(span.to)) break;
    if (key->day != day || key->place.subject != subject) {
      day = key->day > day ? key->day : day + 1;
      it->Seek(history_subject_key(kind, day, subject));
      continue;
    }
    if (key->place.at >= span.to) break;
    found.push_back(row_of(kind, std::move(key->place), it->value()));
    it->Next();
  }
  if (!it->status().ok()) return unreadable(it->status());
  return found;
}

Result<HistoryPage> EmbeddedHistory::scan_now(HistoryKind kind, HistorySpan span, const std::string& cursor,
                                              std::size_t limit) const {
  const std::optional<HistoryPlace> from = from_history_cursor(cursor);
  if (!from && !cursor.empty()) return fail(Code::invalid, "cursor: it is not one that a scan has returned");
  HistoryPage page;
  const std::chrono::nanoseconds until = clock_.stopwatch() + list_time_max;
  const std::string behind = from ? history_key(kind, *from) : std::string();
  const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator({}));
  it->Seek(from ? behind : history_day_key(kind, history_day(span.from)));
  HistoryPlace last;
  for (std::size_t looked = 0; it->Valid(); it->Next()) {
    std::optional<ParsedHistoryKey> key = parse_history_key(kind, view(it->key()));
    if (!key || key->day > history_day(span.to)) break;
    if (from && view(it->key()) <= behind) continue;
    const bool late = looked % looks_between_clocks == looks_between_clocks - 1 && clock_.stopwatch() >= until;
    if (looked > 0 && (late || looked >= looks_max || page.rows.size() >= limit)) {
      page.cursor = to_history_cursor(last);
      break;
    }
    ++looked;
    last = key->place;
    if (span.holds(key->place.at)) page.rows.push_back(row_of(kind, std::move(key->place), it->value()));
  }
  if (!it->status().ok()) return unreadable(it->status());
  return page;
}

// One range, and only if there is something in it: ranges that were deleted cost every later read a little.
Result<void> EmbeddedHistory::prune_now(HistoryKind kind, Time before) {
  const std::string begin(1, static_cast<char>(kind));
  const std::string end = history_day_key(kind, history_day(before));
  {
    const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator({}));
    it->Seek(begin);
    if (!it->status().ok()) return unreadable(it->status());
    if (!it->Valid() || view(it->key()) >= end) return {};
  }
  const rocksdb::Status deleted = db_->DeleteRange({}, db_->DefaultColumnFamily(), begin, end);
  if (deleted.ok()) return {};
  return fail(Code::unavailable, "the history cannot be pruned: " + deleted.ToString());
}

}  // namespace semel::store::embedded
