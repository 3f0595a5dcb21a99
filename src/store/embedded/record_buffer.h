// The engine's buffer for records that have yet to be written to a table.
//
// Looking up and inserting is RocksDB's hash table of short lists: ids come in no order, so a sorted buffer would cost
// a cache miss at every level. But that one is sorted for its table by inserting every record into a skip list, and
// that was the largest single cost of a claim and its completion. Here the records are noted as they come, and those
// notes are sorted, once, when the buffer takes no more.
#pragma once

#include <cstddef>
#include <memory>

#include <rocksdb/memtablerep.h>

namespace semel::store::embedded {

std::shared_ptr<rocksdb::MemTableRepFactory> record_buffers(std::size_t buckets);

}  // namespace semel::store::embedded
