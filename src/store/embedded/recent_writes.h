// What the last commits wrote, so that judging a call seldom needs the ledger.
//
//   a completion   needs the claim that it ends, which was committed a moment ago: kept here until another claim takes
//                  its place
//   a claim        comes with its caller's own look into the ledger ("no such record at version v"): still true if
//                  nothing was written to that key after v
//
// Both tables have a fixed size and are addressed by bits of the id. A clash costs a read from the ledger, never a
// wrong answer. Only version() may be called by any thread; the rest belongs to the thread that commits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "store/embedded/ledger.h"
#include <semel/key.h>
#include <semel/store.h>

namespace semel::store::embedded {

class RecentWrites {
 public:
  RecentWrites() : claims_(claims_kept), written_(keys_kept, 0) {}

  // The number of the last commit. A read that begins after this sees that commit.
  [[nodiscard]] std::uint64_t version() const { return version_.load(std::memory_order_acquire); }

  // The running claim that is stored under `id`, if it is remembered.
  [[nodiscard]] const Record* claim(const Digest& id) const {
    const std::optional<Record>& kept = claims_[word(id) % claims_kept];
    return kept && kept->key.id == id ? &*kept : nullptr;
  }

  // False may mean that another key has the same place.
  [[nodiscard]] bool unchanged_since(std::uint64_t version, const Digest& id) const {
    return written_[word(id) % keys_kept] <= version;
  }

  // Call this after every successful commit, when the ledger shows it to readers.
  void note(std::span<const Change> changes) {
    const std::uint64_t next = version_.load(std::memory_order_relaxed) + 1;
    for (const Change& change : changes) {
      written_[word(change.id) % keys_kept] = next;
      std::optional<Record>& kept = claims_[word(change.id) % claims_kept];
      if (change.record && change.record->state == Record::State::running) {
        kept = change.record;
      } else if (kept && kept->key.id == change.id) {
        kept.reset();
      }
    }
    version_.store(next, std::memory_order_release);
  }

 private:
  static constexpr std::size_t claims_kept = 1U << 12U;
  static constexpr std::size_t keys_kept = 1U << 16U;

  static std::size_t word(const Digest& id) {
    std::size_t first = 0;  // ids are cryptographic hashes: any of their bytes will do
    std::memcpy(&first, id.data(), sizeof(first));
    return first;
  }

  std::vector<std::optional<Record>> claims_;
  std::vector<std::uint64_t> written_;  // the last commit that wrote a key with this place
  std::atomic<std::uint64_t> version_{0};
};

}  // namespace semel::store::embedded
