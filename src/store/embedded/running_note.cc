#include "store/embedded/running_note.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>
#include <rocksdb/table_properties.h>
#include <rocksdb/types.h>

#include "core/codec.h"
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::embedded {
namespace {

constexpr const char* note_name = "semel.running";  // the ids, one after the other

class RunningNote : public rocksdb::TablePropertiesCollector {
 public:
  rocksdb::Status AddUserKey(const rocksdb::Slice& key, const rocksdb::Slice& value, rocksdb::EntryType type,
                             rocksdb::SequenceNumber /*sequence*/, std::uint64_t /*file_bytes*/) override {
    if (type != rocksdb::kEntryPut || key.size() != sizeof(Digest)) return rocksdb::Status::OK();
    const std::optional<core::RecordOutline> seen = core::outline(std::string_view(value.data(), value.size()));
    if (seen && seen->state == Record::State::running) ids_.append(key.data(), key.size());
    return rocksdb::Status::OK();
  }
  rocksdb::Status Finish(rocksdb::UserCollectedProperties* properties) override {
    if (!ids_.empty()) properties->insert({note_name, std::move(ids_)});
    ids_.clear();
    return rocksdb::Status::OK();
  }
  [[nodiscard]] rocksdb::UserCollectedProperties GetReadableProperties() const override { return {}; }
  [[nodiscard]] const char* Name() const override { return note_name; }

 private:
  std::string ids_;
};

class RunningNotes : public rocksdb::TablePropertiesCollectorFactory {
 public:
  rocksdb::TablePropertiesCollector* CreateTablePropertiesCollector(Context /*context*/) override {
    return std::make_unique<RunningNote>().release();  // the engine deletes it
  }
  [[nodiscard]] const char* Name() const override { return note_name; }
};

}  // namespace

std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> running_notes() {
  return std::make_shared<RunningNotes>();
}

Result<std::vector<Digest>> noted_running(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* records) {
  rocksdb::TablePropertiesCollection tables;
  const rocksdb::Status status = db.GetPropertiesOfAllTables(records, &tables);
  if (!status.ok()) return fail(Code::corrupt, "the tables of the store cannot be read: " + status.ToString());
  std::vector<Digest> ids;
  for (const auto& [path, table] : tables) {
    const auto note = table->user_collected_properties.find(note_name);
    if (note == table->user_collected_properties.end()) continue;
    const std::string& bytes = note->second;
    for (std::size_t at = 0; at + sizeof(Digest) <= bytes.size(); at += sizeof(Digest)) {
      std::memcpy(ids.emplace_back().data(), bytes.data() + at, sizeof(Digest));
    }
  }
  std::ranges::sort(ids);
  const auto repeated = std::ranges::unique(ids);
  ids.erase(repeated.begin(), repeated.end());
  return ids;
}

}  // namespace semel::store::embedded
