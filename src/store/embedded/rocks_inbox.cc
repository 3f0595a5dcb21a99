// The inbox in the ledger: two families, read from any thread, written with the batch of the committer.
#include <atomic>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <rocksdb/db.h>
#include <rocksdb/iterator.h>
#include <rocksdb/options.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>

#include "store/embedded/rocks_ledger.h"
#include "store/inbox_codec.h"
#include "store/inbox_table.h"
#include <semel/result.h>

namespace semel::store::embedded {
namespace {

rocksdb::Slice slice(std::string_view text) {
  return {text.data(), text.size()};
}

// The first key behind all that begin with `prefix`.
std::string behind(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xFF') end.pop_back();
  if (!end.empty()) ++end.back();
  return end;
}

std::unexpected<Error> unread(const rocksdb::Status& status) {
  const Code code = status.IsCorruption() ? Code::corrupt : Code::unavailable;
  return fail(code, "the inbox cannot be read: " + status.ToString());
}

}  // namespace

rocksdb::ColumnFamilyHandle* RocksLedger::family_of(std::string_view inbox_key) const {
  return inbox_key.starts_with(parcel_tag) ? engine_->parcels() : engine_->inbox();
}

// A key of a queue is removed by Delete: a SingleDelete forgets its sequence number (unsettled_index.h).
void RocksLedger::add_inbox(const OverlayTable::Changes& inbox) {
  for (const auto& [key, value] : inbox) {
    if (value) {
      batch_.Put(family_of(key), key, *value).PermitUncheckedError();
    } else {
      batch_.Delete(family_of(key), key).PermitUncheckedError();
    }
  }
}

Result<std::optional<std::string>> RocksLedger::get(std::string_view key) {
  if (stopped_.load(std::memory_order_acquire)) return fail(Code::unavailable, stop_reason_);
  std::string value;
  const rocksdb::Status status = engine_->db().Get({}, family_of(key), slice(key), &value);
  if (status.IsNotFound()) return std::nullopt;
  if (status.ok()) return value;
  return unread(status);
}

Result<void> RocksLedger::walk(std::string_view begin, std::string_view prefix, InboxVisit visit) {
  if (stopped_.load(std::memory_order_acquire)) return fail(Code::unavailable, stop_reason_);
  const std::string end = behind(prefix);
  const rocksdb::Slice bound(end);
  rocksdb::ReadOptions options;
  options.iterate_upper_bound = &bound;
  options.total_order_seek = prefix.size() != line_prefix_bytes;
  const std::unique_ptr<rocksdb::Iterator> it(engine_->db().NewIterator(options, family_of(prefix)));
  for (it->Seek(slice(begin)); it->Valid(); it->Next()) {
    const std::string_view key(it->key().data(), it->key().size());
    if (!visit(key, std::string_view(it->value().data(), it->value().size()))) break;
  }
  if (it->status().ok()) return {};
  return unread(it->status());
}

// Each delivery asks who is first of its object. One iterator serves the lines of a whole batch, because to make one
// costs a fifth of a look. Its bound moves before each Seek; a block that is already there may still be read by the
// bound from before, so keys are held against the prefix, too.
class RocksLedger::SteadyReader : public InboxReader {
 public:
  explicit SteadyReader(RocksLedger& ledger) : ledger_(ledger) {}

  Result<std::optional<std::string>> get(std::string_view key) override { return ledger_.get(key); }

  Result<void> walk(std::string_view begin, std::string_view prefix, InboxVisit visit) override {
    if (prefix.size() != line_prefix_bytes) return ledger_.walk(begin, prefix, visit);
    if (ledger_.stopped_.load(std::memory_order_acquire)) return fail(Code::unavailable, ledger_.stop_reason_);
    end_ = behind(prefix);
    bound_ = rocksdb::Slice(end_);
    if (lines_ == nullptr) {
      rocksdb::ReadOptions options;
      options.iterate_upper_bound = &bound_;
      lines_.reset(ledger_.engine_->db().NewIterator(options, ledger_.family_of(prefix)));
    }
    for (lines_->Seek(slice(begin)); lines_->Valid(); lines_->Next()) {
      const std::string_view key(lines_->key().data(), lines_->key().size());
      if (!key.starts_with(prefix)) break;
      if (!visit(key, std::string_view(lines_->value().data(), lines_->value().size()))) break;
    }
    if (lines_->status().ok()) return {};
    return unread(lines_->status());
  }

 private:
  RocksLedger& ledger_;
  std::string end_;
  rocksdb::Slice bound_;                      // of end_
  std::unique_ptr<rocksdb::Iterator> lines_;  // reads up to bound_
};

std::unique_ptr<InboxReader> RocksLedger::steady() {
  return std::make_unique<SteadyReader>(*this);
}

}  // namespace semel::store::embedded
