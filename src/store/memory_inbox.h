// The inbox of the reference store: a map, under the mutex of the store.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "store/call.h"
#include "store/inbox_book.h"
#include "store/inbox_front.h"
#include "store/inbox_table.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store {

class MemoryTable : public InboxTable {
 public:
  Result<std::optional<std::string>> get(std::string_view key) override;
  Result<void> walk(std::string_view begin, std::string_view prefix, InboxVisit visit) override;
  void put(std::string key, std::string value) override;
  void erase(std::string key) override;
  [[nodiscard]] std::size_t savepoint() const override { return writes_; }
  // Memory can always be read, so no step fails after it has begun to write.
  void go_back(std::size_t savepoint) override;

 private:
  std::map<std::string, std::string, std::less<>> entries_;
  std::size_t writes_ = 0;
};

class MemoryInbox : public InboxFront {
 public:
  // All of these outlive it. `records` is used under the mutex.
  MemoryInbox(Clock& clock, std::mutex& mutex, KeyRecords& records);

 private:
  Task<void> submit(InboxCall* call) override;
  Task<void> read(Look look, Result<void>* answer, Extent extent) override;
  [[nodiscard]] Time now() const override { return clock_.now(); }

  Clock& clock_;
  std::mutex& mutex_;
  KeyRecords& records_;
  MemoryTable table_;
  InboxBook book_{1};
};

}  // namespace semel::store
