// A round looks, moves batch after batch while they are full, and keeps house.
#include "outbox/mover.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "config/config.h"
#include "gateway/dispatcher.h"
#include "outbox/batch.h"
#include "outbox/database.h"
#include "outbox/trouble.h"
#include "runtime/failpoint.h"
#include "telemetry/outbox_metrics.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::outbox {
namespace {

using telemetry::OutboxStanding;

constexpr std::size_t rows_max = 500;
constexpr Millis standby_wait{1'000};
constexpr Millis trouble_wait_min{100};
constexpr Millis trouble_wait_max{5'000};
constexpr Millis look_back_every{5'000};
constexpr std::uint64_t turn_after_rows = 20'000;
constexpr Millis turn_after{60'000};

void add(std::atomic<std::uint64_t>& to, std::uint64_t count) {
  to.fetch_add(count, std::memory_order_relaxed);
}

}  // namespace

Mover::Mover(Clock& clock, gateway::Dispatcher& dispatcher, config::OutboxConfig outbox, std::uint64_t me,
             std::function<void(const std::string&)> say)
    : clock_(clock),
      dispatcher_(dispatcher),
      outbox_(std::move(outbox)),
      database_(clock, outbox_.database.reveal(), (me >> 2U) | 1U),  // a sequence holds 63 bits
      pace_(outbox_.poll_busy, outbox_.poll_idle),
      log_{.trouble = TroubleLog(outbox_.name), .say = std::move(say)},
      metrics_(std::make_shared<telemetry::OutboxMetrics>(outbox_.name)),
      doorbell_(clock, outbox_.database.reveal(), [this] { rung(); }) {}

Mover::~Mover() {
  stop();
}

void Mover::start() {
  thread_ = std::thread([this] { run(); });
  if (outbox_.doorbell) doorbell_.start();
}

void Mover::stop() {
  doorbell_.stop();
  {
    const std::scoped_lock lock(sleep_.mutex);
    stopping_ = true;
  }
  sleep_.woken.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Mover::run() {
  while (!stopping_) {
    const Result<Millis> done = round();
    if (!done && stopping_) break;  // no trouble: it was told to stop
    const auto line = done ? log_.trouble.works(clock_.now()) : log_.trouble.fails(done.error().detail, clock_.now());
    if (line) log_.say(*line);
    if (done) {
      rounds_.trouble_wait = Millis{0};
      if (rounds_.moves) {
        wait(*done);
      } else {
        rest(*done);
      }
      continue;
    }
    metrics_->fails(done.error().detail);
    grow_older();
    rounds_.trouble_wait = std::clamp(2 * rounds_.trouble_wait, trouble_wait_min, trouble_wait_max);
    rest(rounds_.trouble_wait);  // rings are no reason to ask for the same trouble more often
  }
  database_.leave();
  database_.close();
}

Result<Millis> Mover::round() {
  if (!database_.is_open()) {
    if (const Result<void> opened = database_.open(); !opened) return std::unexpected(opened.error());
  }
  const Result<OutboxLook> look = database_.look();
  if (!look) return std::unexpected(look.error());
  // Also of a gateway that stands by, and of one that will fail to move: what waits must be seen then.
  if (const Result<void> seen = look_back(); !seen) return std::unexpected(seen.error());
  rounds_.moves = *look != OutboxLook::elsewhere;
  if (!rounds_.moves) {
    metrics_->stands(OutboxStanding::standby);
    return standby_wait;
  }
  metrics_->stands(OutboxStanding::moving);
  bool more = *look == OutboxLook::something;
  while (more && !stopping_) {
    const Result<bool> moved = move();
    if (!moved) return std::unexpected(moved.error());
    more = *moved;
    if (const Result<void> kept = keep_house(); !kept) return std::unexpected(kept.error());
  }
  if (const Result<void> kept = keep_house(); !kept) return std::unexpected(kept.error());
  return pace_.after_nothing(clock_.now());
}

// One batch. False if there was nothing.
Result<bool> Mover::move() {
  Result<std::vector<OutboxRow>> rows = database_.take(rows_max);
  if (!rows) return std::unexpected(rows.error());
  const std::size_t count = rows->size();
  if (count == 0) {
    if (const Result<void> ended = database_.commit(); !ended) return std::unexpected(ended.error());
    return false;
  }
  runtime::failpoint("outbox-taken");
  const BatchEnd end = move_batch(dispatcher_, outbox_, *std::move(rows), stopping_);
  add(metrics_->key_reused, end.key_reused);
  add(metrics_->undeliverable, end.undeliverable);
  if (!end.trouble.empty()) {
    database_.roll_back();
    return fail(Code::unavailable, end.trouble);
  }
  runtime::failpoint("outbox-accepted");
  if (const Result<void> committed = database_.commit(); !committed) return std::unexpected(committed.error());
  runtime::failpoint("outbox-moved");
  add(metrics_->moved, count);
  metrics_->moved_at.store(clock_.wall().time_since_epoch().count(), std::memory_order_relaxed);
  add(metrics_->repeated, end.known);
  rounds_.moved += count;
  pace_.found(clock_.now());
  return count == rows_max;
}

// Tables take turns when they have been used, and how much waits is looked at now and then.
Result<void> Mover::keep_house() {
  const Time now = clock_.now();
  const bool due = rounds_.moved >= turn_after_rows || (rounds_.moved > 0 && now >= rounds_.turned + turn_after);
  if (due && now >= rounds_.turned + standby_wait) {
    const Result<TableTurn> turned = database_.turn();
    if (!turned) return std::unexpected(turned.error());
    metrics_->turned(*turned == TableTurn::blocked);
    rounds_.turned = now;
    if (*turned == TableTurn::turned) rounds_.moved = 0;
  }
  return look_back();
}

// How much waits, now and then.
Result<void> Mover::look_back() {
  const Time now = clock_.now();
  if (now < rounds_.looked_back + look_back_every) return {};
  const Result<OutboxBacklog> backlog = database_.backlog();
  if (!backlog) return std::unexpected(backlog.error());
  rounds_.looked_back = now;
  rounds_.backlog = *backlog;
  metrics_->sees(backlog->waiting, backlog->oldest_ms);
  return {};
}

// What waited when the database could last be asked still waits.
void Mover::grow_older() {
  if (database_.is_open() || rounds_.backlog.waiting == 0) return;
  const auto since = static_cast<std::uint64_t>((clock_.now() - rounds_.looked_back).count());
  metrics_->sees(rounds_.backlog.waiting, rounds_.backlog.oldest_ms + since);
}

void Mover::rung() {
  {
    const std::scoped_lock lock(sleep_.mutex);
    sleep_.rung = true;
  }
  sleep_.woken.notify_all();
}

// One that rang since the last wait ends this one: what it rang for may have come after the look.
void Mover::wait(Millis time) {
  std::unique_lock lock(sleep_.mutex);
  sleep_.woken.wait_for(lock, time, [this] { return stopping_ || sleep_.rung; });
  sleep_.rung = false;
}

void Mover::rest(Millis time) {
  std::unique_lock lock(sleep_.mutex);
  sleep_.woken.wait_for(lock, time, [this] { return stopping_.load(); });
}

}  // namespace semel::outbox
