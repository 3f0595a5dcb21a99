// A buffer around RocksDB's own. Everything is passed on, except iterating over a buffer that takes no more writes.
#include "store/embedded/record_buffer.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <rocksdb/memtablerep.h>
#include <rocksdb/slice.h>
#include <rocksdb/slice_transform.h>

namespace semel::store::embedded {
namespace {

using Rep = rocksdb::MemTableRep;

// The first bytes of an id decide nearly every comparison without a look at the record, which is far away.
struct Note {
  std::uint64_t first_bytes = 0;
  const char* entry = nullptr;
};

Note note_of(const char* entry, const rocksdb::Slice& internal_key) {
  Note note{.entry = entry};
  std::memcpy(&note.first_bytes, internal_key.data(), std::min(sizeof(note.first_bytes), internal_key.size()));
  if constexpr (std::endian::native == std::endian::little) note.first_bytes = std::byteswap(note.first_bytes);
  return note;
}

class SortedNotes final : public Rep::Iterator {
 public:
  SortedNotes(const Rep::KeyComparator& compare, std::vector<Note> notes)
      : compare_(compare), notes_(std::move(notes)), at_(notes_.size()) {
    std::ranges::sort(notes_, [this](const Note& a, const Note& b) {
      return a.first_bytes != b.first_bytes ? a.first_bytes < b.first_bytes : compare_(a.entry, b.entry) < 0;
    });
  }

  bool Valid() const override { return at_ < notes_.size(); }
  const char* key() const override { return notes_[at_].entry; }
  // Records lie where they were written, far apart: the one that comes soon is fetched while this one is used.
  void Next() override {
    ++at_;
    if (at_ + fetched_ahead < notes_.size()) __builtin_prefetch(notes_[at_ + fetched_ahead].entry);
  }
  void Prev() override { at_ = at_ == 0 ? notes_.size() : at_ - 1; }
  void SeekToFirst() override { at_ = 0; }
  void SeekToLast() override { at_ = notes_.empty() ? 0 : notes_.size() - 1; }

  void Seek(const rocksdb::Slice& internal_key, const char* memtable_key) override {
    at_ = first_from(memtable_key != nullptr ? compare_.decode_key(memtable_key) : internal_key);
  }
  void SeekForPrev(const rocksdb::Slice& internal_key, const char* memtable_key) override {
    const rocksdb::Slice sought = memtable_key != nullptr ? compare_.decode_key(memtable_key) : internal_key;
    at_ = first_from(sought);
    if (!Valid() || compare_(key(), sought) != 0) at_ == 0 ? at_ = notes_.size() : --at_;
  }

 private:
  [[nodiscard]] std::size_t first_from(const rocksdb::Slice& sought) const {
    const auto found =
        std::ranges::partition_point(notes_, [&](const Note& n) { return compare_(n.entry, sought) < 0; });
    return static_cast<std::size_t>(found - notes_.begin());
  }

  static constexpr std::size_t fetched_ahead = 8;

  const Rep::KeyComparator& compare_;
  std::vector<Note> notes_;
  std::size_t at_;
};

class RecordBuffer final : public Rep {
 public:
  RecordBuffer(const KeyComparator& compare, rocksdb::Allocator* allocator, std::unique_ptr<Rep> table)
      : Rep(allocator), compare_(compare), table_(std::move(table)) {}

  rocksdb::KeyHandle Allocate(const std::size_t size, char** place) override {
    const rocksdb::KeyHandle handle = table_->Allocate(size, place);
    allocated_ = *place;
    return handle;
  }
  // One thread writes, and inserts what it allocated last: RocksDB's way while concurrent writes are off.
  void Insert(rocksdb::KeyHandle handle) override {
    table_->Insert(handle);
    notes_.push_back(note_of(allocated_, compare_.decode_key(allocated_)));
  }
  bool Contains(const char* key) const override { return table_->Contains(key); }
  void MarkReadOnly() override {
    table_->MarkReadOnly();
    complete_.store(true, std::memory_order_release);
  }
  void MarkFlushed() override { table_->MarkFlushed(); }
  void Get(const rocksdb::LookupKey& key, void* argument, bool (*found)(void* argument, const char* entry)) override {
    table_->Get(key, argument, found);
  }
  // The notes, a fortieth of it, are left out: any thread may ask, and only the writer may look at them.
  std::size_t ApproximateMemoryUsage() override { return table_->ApproximateMemoryUsage(); }

  Iterator* GetIterator(rocksdb::Arena* arena) override {
    if (!complete_.load(std::memory_order_acquire)) return table_->GetIterator(arena);
    if (arena == nullptr) return new SortedNotes(compare_, notes_);
    // An iterator in an arena is destroyed but not deleted, and the arena is not ours to use: its memory is kept here.
    const std::scoped_lock lock(places_mutex_);
    auto& place = places_.emplace_back(std::make_unique<Place>());
    return new (place->bytes) SortedNotes(compare_, notes_);
  }
  Iterator* GetDynamicPrefixIterator(rocksdb::Arena* arena) override { return table_->GetDynamicPrefixIterator(arena); }

 private:
  struct Place {
    alignas(SortedNotes) std::byte bytes[sizeof(SortedNotes)];
  };

  const KeyComparator& compare_;
  std::unique_ptr<Rep> table_;
  char* allocated_ = nullptr;
  std::vector<Note> notes_;
  std::atomic<bool> complete_{false};
  std::mutex places_mutex_;
  std::vector<std::unique_ptr<Place>> places_;
};

class RecordBuffers final : public rocksdb::MemTableRepFactory {
 public:
  explicit RecordBuffers(std::size_t buckets) : tables_(rocksdb::NewHashLinkListRepFactory(buckets)) {}

  using rocksdb::MemTableRepFactory::CreateMemTableRep;
  Rep* CreateMemTableRep(const Rep::KeyComparator& compare, rocksdb::Allocator* allocator,
                         const rocksdb::SliceTransform* prefix, rocksdb::Logger* logger) override {
    std::unique_ptr<Rep> table(tables_->CreateMemTableRep(compare, allocator, prefix, logger));
    return new RecordBuffer(compare, allocator, std::move(table));
  }
  const char* Name() const override { return "semel.RecordBuffers"; }

 private:
  std::unique_ptr<rocksdb::MemTableRepFactory> tables_;
};

}  // namespace

std::shared_ptr<rocksdb::MemTableRepFactory> record_buffers(std::size_t buckets) {
  return std::make_shared<RecordBuffers>(buckets);
}

}  // namespace semel::store::embedded
