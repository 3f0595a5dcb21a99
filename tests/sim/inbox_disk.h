// The disk under the simulated inbox: a durable table and durable records, with a disk's ways of failing.
//
// What is written survives every crash. A commit may be refused for want of room; may fail, with the batch in limbo: a
// restart finds it there or not; and may be cut off by the end of the process, before or after it is durable. After an
// error everything is refused until the restart. A test may choose the fate of a certain commit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/inbox_oracle.h"
#include "sim/inbox_world.h"
#include "store/embedded/ledger.h"
#include "store/inbox_table.h"
#include "store/memory_inbox.h"
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::sim {

enum class CommitFate : std::uint8_t { written, full, failed, cut_before, cut_after };

class InboxDisk : public store::embedded::Ledger, public store::InboxReader {
 public:
  InboxDisk(InboxWorld& world, InboxOracle& oracle) : world_(world), oracle_(oracle) {}

  // The commit of this number, from 1 on, has this fate.
  void doom(std::uint64_t number, CommitFate fate) { doomed_[number] = fate; }
  // Whether a restart finds what was in limbo; none: by chance.
  void limbo_reappears(bool does) { reappears_ = does; }

  Result<std::optional<Record>> read(const Digest& id) override;
  Result<void> admit() override;
  Result<void> commit(std::span<const store::embedded::Change> changes) override { return commit_with(changes, {}); }
  Result<void> commit_with(std::span<const store::embedded::Change> changes,
                           const store::OverlayTable::Changes& inbox) override;
  Result<std::vector<store::embedded::Expiry>> expiries(Time now, std::size_t limit,
                                                        const std::optional<store::embedded::Expiry>& after) override;

  Result<std::optional<std::string>> get(std::string_view key) override;
  Result<void> walk(std::string_view begin, std::string_view prefix, store::InboxVisit visit) override;

  [[nodiscard]] bool stopped() const { return stopped_; }
  // Whether the commit was cut off by the end of the process.
  [[nodiscard]] bool cut_off() const { return cut_off_; }
  void restart();

 private:
  using Batch = std::pair<std::vector<store::embedded::Change>, store::OverlayTable::Changes>;

  CommitFate draw();
  void apply(const Batch& batch);

  InboxWorld& world_;
  InboxOracle& oracle_;
  std::map<Digest, Record> records_;
  store::MemoryTable table_;
  std::optional<Batch> limbo_;
  std::map<std::uint64_t, CommitFate> doomed_;
  std::optional<bool> reappears_;
  bool stopped_ = false;
  bool cut_off_ = false;
};

}  // namespace semel::sim
