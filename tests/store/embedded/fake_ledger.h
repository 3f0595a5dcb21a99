// A ledger in memory that counts what is asked of it and fails when told to.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "store/embedded/ledger.h"
#include <semel/result.h>
#include <semel/store.h>

namespace semel::test {

class FakeLedger : public store::embedded::Ledger {
 public:
  Result<std::optional<Record>> read(const Digest& id) override {
    ++reads;
    if (corrupt.contains(id)) return fail(Code::corrupt, "damaged");
    const auto found = records.find(id);
    return found == records.end() ? std::nullopt : std::optional(found->second);
  }

  Result<void> admit() override {
    if (full) return fail(Code::full, "no room");
    return {};
  }

  Result<void> commit(std::span<const store::embedded::Change> changes) override {
    ++commits;
    last_commit.clear();
    for (const store::embedded::Change& change : changes) last_commit.push_back(change.id);
    if (broken) return fail(Code::unavailable, "broken");
    for (const store::embedded::Change& change : changes) {
      if (change.replaced_expiry) index.erase({.at = *change.replaced_expiry, .id = change.id});
      records.erase(change.id);
      if (!change.record) continue;
      index.insert({.at = change.record->expires_at, .id = change.id});
      records.emplace(change.id, *change.record);
    }
    return {};
  }

  Result<std::vector<store::embedded::Expiry>> expiries(Time now, std::size_t limit,
                                                        const std::optional<store::embedded::Expiry>& after) override {
    std::vector<store::embedded::Expiry> found;
    for (auto it = after ? index.upper_bound(*after) : index.begin();
         it != index.end() && it->at <= now && found.size() < limit; ++it) {
      found.push_back(*it);
    }
    return found;
  }

  std::map<Digest, Record> records;
  std::set<store::embedded::Expiry> index;
  std::set<Digest> corrupt;
  std::vector<Digest> last_commit;
  bool full = false;
  bool broken = false;
  int reads = 0;
  int commits = 0;
};

}  // namespace semel::test
