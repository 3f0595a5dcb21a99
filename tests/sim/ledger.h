// A ledger without a disk, but with a disk's ways of failing.
//
// What is durable survives every crash. A commit may be refused for want of room; may fail, with the batch in limbo: it
// is not readable, and a restart finds it there or not; and may be cut off by a crash before or after it is durable.
// After an error everything is refused until the restart. Every durable change is shown to the oracle.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "sim/oracle.h"
#include "sim/world.h"
#include "store/embedded/ledger.h"

namespace semel::sim {

class SimLedger : public store::embedded::Ledger {
 public:
  explicit SimLedger(World& world) : world_(world) {}
  void watched_by(Oracle& oracle) { oracle_ = &oracle; }

  Result<std::optional<Record>> read(const Digest& id) override;
  Result<void> admit() override;
  Result<void> commit(std::span<const store::embedded::Change> changes) override;
  Result<std::vector<store::embedded::Expiry>> expiries(Time now, std::size_t limit,
                                                        const std::optional<store::embedded::Expiry>& after) override;

  // Whom to ask what a commit comes from.
  void judged_by(std::function<Deeds()> deeds) { deeds_ = std::move(deeds); }
  [[nodiscard]] bool stopped() const { return stopped_; }
  // Whether the commit was cut off by the end of the process.
  [[nodiscard]] bool crashed() const { return crashed_; }
  void restart();

  [[nodiscard]] const Record* durable(const Digest& id) const;
  [[nodiscard]] bool empty() const { return records_.empty() && index_.empty(); }

 private:
  void apply(std::span<const store::embedded::Change> changes, const Deeds& deeds);
  void reclaim(Time now);
  Result<void> fail_now(const char* what);

  World& world_;
  Oracle* oracle_ = nullptr;
  std::map<Digest, Record> records_;
  std::set<store::embedded::Expiry> index_;
  std::function<Deeds()> deeds_;
  std::vector<store::embedded::Change> limbo_;
  Deeds limbo_deeds_;
  bool stopped_ = false;
  bool crashed_ = false;
};

}  // namespace semel::sim
