// How RocksDB is set up, and why. Every option that guards a promise or was measured is set here.
#pragma once

#include <cstddef>
#include <filesystem>

#include <rocksdb/compaction_filter.h>
#include <rocksdb/options.h>

namespace semel::store::embedded {

rocksdb::DBOptions database_options(const std::filesystem::path& folder);

// id → record: point lookups only, most of them for ids that are not there.
rocksdb::ColumnFamilyOptions records_options(std::size_t cache_bytes, const rocksdb::CompactionFilter& filter);

// expiry and time mark: written in order of time, read from the front.
rocksdb::ColumnFamilyOptions index_options();

// What the inbox keeps beside the parcels (store/inbox_codec.h): read by key, and in order from a known place on.
rocksdb::ColumnFamilyOptions inbox_options();

// id → what an event came with: written once, read seldom, dropped in the order of time.
rocksdb::ColumnFamilyOptions parcels_options();

}  // namespace semel::store::embedded
