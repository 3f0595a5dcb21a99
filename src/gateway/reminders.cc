#include "gateway/reminders.h"

#include <atomic>
#include <utility>
#include <vector>

#include "store/history.h"
#include "store/reminder.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::gateway {
namespace {

constexpr Millis slow{500};
constexpr Millis idle{5'000};

}  // namespace

Task<void> Reminders::keep(Key key, store::Reminder reminder) {
  const Time began = clock_.now();
  if (began.time_since_epoch().count() < idle_until_ms_.load(std::memory_order_relaxed)) {
    lost_.fetch_add(1, std::memory_order_relaxed);
    co_return;
  }
  const Digest id = desk_ == nullptr ? key.id : desk_->named(key).id;
  std::vector<store::HistoryRow> rows;
  rows.push_back(to_row(reminder, id, clock_.wall()));
  const Result<void> written = co_await history_.append(std::move(rows));
  if (!written) lost_.fetch_add(1, std::memory_order_relaxed);
  const Time ended = clock_.now();
  if (written && ended - began < slow) co_return;
  idle_until_ms_.store((ended + idle).time_since_epoch().count(), std::memory_order_relaxed);
}

}  // namespace semel::gateway
