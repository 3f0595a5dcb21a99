#include "telemetry/attempt_pad.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/json/writer.h"
#include "store/history.h"

namespace semel::telemetry {
namespace {

std::uint64_t micros(std::chrono::nanoseconds time) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, time.count()) / 1'000);
}

}  // namespace

void AttemptPad::add(const HandlerAttempt& attempt) {
  const bool plain = attempt.attempt == 1 && attempt.state == "done";
  const std::scoped_lock lock(mutex_);
  if (rows_.size() >= rows_max || (plain && plain_ >= plain_max)) return;
  if (plain) ++plain_;
  store::HistoryRow& row = rows_.emplace_back();
  row.kind = plain ? store::HistoryKind::plain_run : store::HistoryKind::attempt;
  row.subject = attempt.event.view();
  row.at = attempt.began;
  core::json::JsonWriter json(row.value);
  json.begin_object().bytes("destination", attempt.to).number("attempt", attempt.attempt);
  json.text("state", attempt.state).number("status", attempt.status).bytes("why", attempt.why);
  json.thousandths("ms", micros(attempt.took)).bytes("node", node_).end_object();
}

std::vector<store::HistoryRow> AttemptPad::take() {
  std::vector<store::HistoryRow> taken;
  const std::scoped_lock lock(mutex_);
  taken.swap(rows_);
  plain_ = 0;
  return taken;
}

}  // namespace semel::telemetry
