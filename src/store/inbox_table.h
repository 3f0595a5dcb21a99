// What the rules of an inbox are written against: an ordered map of bytes, changed in steps that are made durable by
// others.
//
// InboxReader is what is durable; OverlayTable puts the changes of a batch in front of it. KeyRecords is the part of
// the same batch that the records of keys go through, so that an event and its key are accepted in one step.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/function_ref.h"
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store {

// Returns false to end the walk.
using InboxVisit = core::FunctionRef<bool(std::string_view key, std::string_view value)>;

class InboxReader {
 public:
  virtual ~InboxReader() = default;

  virtual Result<std::optional<std::string>> get(std::string_view key) = 0;
  // What begins with `prefix`, in order, from `begin` on.
  virtual Result<void> walk(std::string_view begin, std::string_view prefix, InboxVisit visit) = 0;

  // A reader of what is durable now, to be used on one thread and not after the next write; this one must outlive it.
  // Null if it would be no faster than this one.
  virtual std::unique_ptr<InboxReader> steady() { return nullptr; }
};

class InboxTable : public InboxReader {
 public:
  virtual void put(std::string key, std::string value) = 0;
  virtual void erase(std::string key) = 0;

  // What was changed since a savepoint can be taken back. A savepoint is good until an earlier one is gone back to.
  [[nodiscard]] virtual std::size_t savepoint() const = 0;
  virtual void go_back(std::size_t savepoint) = 0;
};

class OverlayTable : public InboxTable {
 public:
  using Changes = std::map<std::string, std::optional<std::string>, std::less<>>;  // none: erased

  explicit OverlayTable(InboxReader& below) : below_(below) {}

  Result<std::optional<std::string>> get(std::string_view key) override;
  Result<void> walk(std::string_view begin, std::string_view prefix, InboxVisit visit) override;
  void put(std::string key, std::string value) override { change(std::move(key), std::move(value)); }
  void erase(std::string key) override { change(std::move(key), std::nullopt); }
  [[nodiscard]] std::size_t savepoint() const override { return journal_.size(); }
  void go_back(std::size_t savepoint) override;

  [[nodiscard]] const Changes& changes() const { return changes_; }

 private:
  // What stood at a place before; none: nothing.
  struct Former {
    Changes::iterator at;
    std::optional<Changes::mapped_type> value;
  };

  void change(std::string key, Changes::mapped_type value);

  InboxReader& below_;
  Changes changes_;
  std::vector<Former> journal_;
};

// The records of keys, within the same step.
class KeyRecords {
 public:
  virtual ~KeyRecords() = default;

  // Null if there is none. Valid until the next call.
  virtual Result<const Record*> find_record(const Digest& id) = 0;
  // Follows find_record() of the same key.
  virtual void put_record(Record record) = 0;
  // Whether there is room for one more. Code::full says what is short.
  virtual Result<void> admit_record() = 0;
};

}  // namespace semel::store
