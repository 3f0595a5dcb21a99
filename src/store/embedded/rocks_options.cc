// The options of the engine, its records and its index. All others are RocksDB 7.8's defaults.
#include "store/embedded/rocks_options.h"

#include <cstddef>
#include <filesystem>
#include <memory>

#include <rocksdb/cache.h>
#include <rocksdb/compaction_filter.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>

#include "store/embedded/engine_log.h"
#include "store/embedded/record_buffer.h"
#include "store/embedded/running_note.h"
#include "store/inbox_codec.h"
#include <semel/key.h>

namespace semel::store::embedded {
namespace {

constexpr std::size_t records_buffer_bytes = 32U << 20U;
constexpr std::size_t records_buffer_buckets = 1U << 16U;
constexpr std::size_t index_buffer_bytes = 8U << 20U;
constexpr std::size_t inbox_cache_bytes = 8U << 20U;
constexpr double filter_bits_per_key = 10;
constexpr int runs_merged = 12;  // more cost look-ups, fewer cost merges: at 6 these took a tenth of all CPU time

}  // namespace

rocksdb::DBOptions database_options(const std::filesystem::path& folder) {
  rocksdb::DBOptions options;
  options.create_missing_column_families = true;

  // A log with a flipped bit in the middle must not open; by default all that follows the bit would be dropped. Only
  // the record that was being written when the process died may lack its end.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.track_and_verify_wals_in_manifest = true;
  options.paranoid_checks = true;
  // After an error the only cure is to open the store again; the engine must not try on its own.
  options.max_bgerror_resume_count = 0;
  // Closing needs no flush: the log is durable, and the next open reads it.
  options.avoid_flush_during_shutdown = true;
  // One log holds all families, so it can go only when all have been flushed.
  options.atomic_flush = true;

  // A reader must see nothing that is not durable: with these, a write is shown to readers after the log was synced.
  options.manual_wal_flush = false;
  options.enable_pipelined_write = false;
  options.unordered_write = false;
  options.two_write_queues = false;
  options.allow_concurrent_memtable_write = false;  // there is one writer

  options.max_background_jobs = 4;  // so that small merges need not wait behind a large one
  options.max_open_files = -1;
  options.skip_stats_update_on_db_open = true;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.bytes_per_sync = 1U << 20U;  // of tables, so that a flush does not make the log's sync wait behind it
  options.info_log = std::make_shared<EngineLog>(folder);
  options.max_manifest_file_size = 16U << 20U;
  return options;
}

rocksdb::ColumnFamilyOptions records_options(std::size_t cache_bytes, const rocksdb::CompactionFilter& filter) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(cache_bytes);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(filter_bits_per_key));
  table.whole_key_filtering = true;
  table.cache_index_and_filter_blocks = true;  // so that the cache bounds them, too
  table.cache_index_and_filter_blocks_with_high_priority = true;
  // Always at hand: about 2 bytes a record. Without them every claim of a new key would read from disk.
  table.metadata_cache_options.unpartitioned_pinning = rocksdb::PinningTier::kAll;
  table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  table.data_block_hash_table_util_ratio = 0.75;
  table.format_version = 5;
  table.checksum = rocksdb::ChecksumType::kXXH3;

  rocksdb::ColumnFamilyOptions options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.write_buffer_size = records_buffer_bytes;
  options.max_write_buffer_number = 3;
  // The buffer is a hash table by the whole id. The records are never read in order.
  options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(sizeof(Digest)));
  options.memtable_factory = record_buffers(records_buffer_buckets);
  // Ids and digests do not compress, and large bodies come compressed.
  options.compression = rocksdb::CompressionType::kNoCompression;
  options.compaction_filter = &filter;
  options.table_properties_collector_factories.push_back(running_notes());
  // Merges runs of like size: each record is rewritten a few times in its life, where levels would rewrite it at every
  // merge of the whole. A filter per run keeps look-ups cheap. The price is space: up to three times the live records.
  options.compaction_style = rocksdb::CompactionStyle::kCompactionStyleUniversal;
  options.level0_file_num_compaction_trigger = runs_merged;
  // A run is small after a crash. Many crashes in a row must not end in a store that waits for merges.
  options.level0_slowdown_writes_trigger = 100;
  options.level0_stop_writes_trigger = 200;
  return options;
}

rocksdb::ColumnFamilyOptions index_options() {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(index_buffer_bytes);
  table.cache_index_and_filter_blocks = true;
  table.format_version = 5;
  table.checksum = rocksdb::ChecksumType::kXXH3;

  rocksdb::ColumnFamilyOptions options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.write_buffer_size = index_buffer_bytes;
  options.memtable_insert_with_hint_prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(1));  // mostly at the end
  options.max_write_buffer_number = 3;
  options.compression = rocksdb::CompressionType::kNoCompression;
  return options;
}

rocksdb::ColumnFamilyOptions inbox_options() {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(inbox_cache_bytes);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(filter_bits_per_key));
  // Always at hand, about 7 bytes an event, and not part of the cache: there, those of a million events would leave no
  // room for anything else.
  table.cache_index_and_filter_blocks = false;
  table.format_version = 5;
  table.checksum = rocksdb::ChecksumType::kXXH3;

  rocksdb::ColumnFamilyOptions options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.write_buffer_size = records_buffer_bytes;
  options.max_write_buffer_number = 3;
  options.compression = rocksdb::CompressionType::kNoCompression;
  options.memtable_insert_with_hint_prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(1));  // as in the index
  options.level0_slowdown_writes_trigger = 100;
  options.level0_stop_writes_trigger = 200;
  // The first of a line is looked for with each delivery: files that have nothing of the line are left out by their
  // filters.
  options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(line_prefix_bytes));
  return options;
}

rocksdb::ColumnFamilyOptions parcels_options() {
  rocksdb::ColumnFamilyOptions options = inbox_options();
  options.prefix_extractor.reset();
  options.compaction_style = rocksdb::CompactionStyle::kCompactionStyleUniversal;
  options.level0_file_num_compaction_trigger = runs_merged;
  return options;
}

}  // namespace semel::store::embedded
