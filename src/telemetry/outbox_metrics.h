// What an operator can count of an outbox, as its mover last saw it. One for each [[outbox]] of this process.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace semel::telemetry {

enum class OutboxStanding : std::uint8_t {
  starting,  // it has not asked its database yet
  moving,    // it has the lease
  standby,   // another gateway has it
  failing,   // its database, or the store, does not work
};
std::string_view name(OutboxStanding standing);

class OutboxMetrics {
 public:
  struct View {
    std::string name;
    OutboxStanding standing = OutboxStanding::starting;
    std::uint64_t waiting = 0;        // about so many rows
    std::uint64_t oldest_ms = 0;      // how long ago the oldest of them was sent; 0 if there is none
    std::string trouble;              // why it fails, or did last; empty if it never has
    std::uint64_t turns_blocked = 0;  // in a row: a transaction keeps the tables from being truncated
  };

  explicit OutboxMetrics(std::string name) { view_.name = std::move(name); }

  // Of the mover.
  void stands(OutboxStanding standing);
  void fails(const std::string& trouble);
  void sees(std::uint64_t waiting, std::uint64_t oldest_ms);
  void turned(bool blocked);

  [[nodiscard]] View view() const;

  std::atomic<std::uint64_t> moved{0};          // rows that are in the inbox
  std::atomic<std::uint64_t> repeated{0};       // of those: the same effect was there before
  std::atomic<std::uint64_t> key_reused{0};     // dead: another effect has the key
  std::atomic<std::uint64_t> undeliverable{0};  // dead: no such destination, or a header that cannot be sent
  std::atomic<std::int64_t> moved_at{0};        // the last of them, in milliseconds since 1970; 0 if there was none
  std::atomic<std::uint64_t> failures{0};       // batches that were given back

 private:
  mutable std::mutex mutex_;
  View view_;
};

// Nothing if there is no outbox.
void render_outboxes(std::string& out, const std::vector<std::shared_ptr<const OutboxMetrics>>& outboxes);

}  // namespace semel::telemetry
