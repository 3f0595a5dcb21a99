// The engine's buffer for records that have yet to be written to a table.
//
// Looking up and inserting is left to RocksDB's hash table of short lists: ids come in no order, so a sorted buffer
// would cost a cache miss at every level. But to write its table, RocksDB sorts it by inserting every record into a
// skip list, and that was the largest single cost of a claim and its completion. Here each record is noted when it
// comes, and the notes are sorted once, when the buffer takes no more.
#pragma once

#include <cstddef>
#include <memory>

#include <rocksdb/memtablerep.h>

namespace semel::store::embedded {

std::shared_ptr<rocksdb::MemTableRepFactory> record_buffers(std::size_t buckets);

}  // namespace semel::store::embedded
