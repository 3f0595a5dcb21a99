// Which records of a table were running when the engine wrote it: a note that the table carries with it.
//
// A claim that runs is listed nowhere on disk (running_claims.h). After a crash it must be found all the same, without
// reading every record. The engine writes tables on threads of its own, from what the log already made durable, and on
// opening it first turns the log into tables. So the notes of all tables name every record that was running, and some
// that have ended since, which a look at the record tells.
#pragma once

#include <memory>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/table_properties.h>

#include <semel/key.h>
#include <semel/result.h>

namespace semel::store::embedded {

// For the options of the family of records.
std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> running_notes();

// All ids in the notes of this family's tables, each once.
Result<std::vector<Digest>> noted_running(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* records);

}  // namespace semel::store::embedded
