#include "telemetry/tail.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/encoding.h"
#include "telemetry/log_line.h"

namespace semel::telemetry {
namespace {

bool is_of(std::string_view wanted, std::uint16_t status) {
  const std::string text = std::to_string(status);
  if (wanted.size() == 3 && wanted.substr(1) == "xx") return text.size() == 3 && text.front() == wanted.front();
  return wanted == text;
}

}  // namespace

bool TailFilter::takes(const LogEntry& entry) const {
  if (!route.empty() && route != entry.route) return false;
  if (!outcome.empty() && outcome != entry.outcome && outcome != entry.problem) return false;
  if (!status.empty() && !is_of(status, entry.status)) return false;
  return key_begin.empty() || (entry.key != nullptr && core::to_hex(entry.key->id).starts_with(key_begin));
}

void Tail::offer(const LogEntry& entry) {
  if (!watched()) return;
  std::string line;
  const std::scoped_lock lock(mutex_);
  for (Seat& seat : seats_) {
    if (!seat.filter.takes(entry)) continue;
    if (line.empty()) line_.write(line, entry);
    if (seat.waiting.lines.size() == lines_max || seat.bytes + line.size() > bytes_max) {
      ++seat.waiting.dropped;
      continue;
    }
    seat.bytes += line.size();
    seat.waiting.lines.push_back(line);
  }
}

std::unique_ptr<Tail::Watcher> Tail::watch(TailFilter filter) {
  const std::scoped_lock lock(mutex_);
  if (seats_.size() == watchers_max) return nullptr;
  seats_.push_back({.number = next_, .filter = std::move(filter), .waiting = {}, .bytes = 0});
  count_.store(seats_.size(), std::memory_order_relaxed);
  return std::make_unique<Watcher>(*this, next_++);
}

Tail::Watcher::~Watcher() {
  const std::scoped_lock lock(tail_.mutex_);
  std::erase_if(tail_.seats_, [this](const Seat& seat) { return seat.number == number_; });
  tail_.count_.store(tail_.seats_.size(), std::memory_order_relaxed);
}

Tail::Lines Tail::Watcher::take() {
  const std::scoped_lock lock(tail_.mutex_);
  const auto seat = std::ranges::find(tail_.seats_, number_, &Seat::number);
  if (seat == tail_.seats_.end()) return {};
  seat->bytes = 0;
  return std::exchange(seat->waiting, {});
}

}  // namespace semel::telemetry
