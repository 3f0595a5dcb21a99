#include "store/postgres/pulse.h"

#include <atomic>
#include <charconv>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <libpq-fe.h>

#include "store/call.h"
#include "store/postgres/inbox_statements.h"
#include "store/postgres/late_driver.h"
#include "store/postgres/parameters.h"
#include "store/postgres/seen.h"
#include "store/postgres/seen_file.h"
#include "store/postgres/sql.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::postgres {
namespace {

constexpr Millis every{1'000};
constexpr int beats_per_note = 10;  // a note is a file that is synced

Reached seen_in(const PGresult* reply) {
  const std::string_view timeline = value_of(reply, 0, 0);
  Reached seen{.timeline = 0, .pulse = number_of(value_of(reply, 0, 1)), .place = std::string(value_of(reply, 0, 2))};
  std::from_chars(timeline.data(), timeline.data() + timeline.size(), seen.timeline, 16);
  return seen;
}

}  // namespace

Pulse::Pulse(Clock& clock, LateDriver& driver, std::atomic<bool>& wrote, std::shared_ptr<NewestSeen> newest,
             std::filesystem::path folder)
    : driver_(driver),
      wrote_(wrote),
      newest_(std::move(newest)),
      folder_(std::move(folder)),
      heart_(clock, every, [this] { return beat(); }) {}

Pulse::~Pulse() {
  heart_.stop();
  keep();
}

void Pulse::start(std::string database) {
  database_ = std::move(database);
  heart_.start();
}

Task<void> Pulse::beat() {
  const bool wrote = wrote_.exchange(false);
  const Reached before = newest_->get();
  Reached seen;
  const auto see = [&](const PGresult* reply) { seen = seen_in(reply); };
  PlainStep step(wrote ? raise_pulse_sql : see_pulse_sql, [](Parameters& /*parameters*/) {}, see);
  StoreCall call{.key = {}, .request = StepCall{}};
  const Result<void> asked = co_await driver_.submit(&call, &step);
  const bool answered = asked && std::get<StepCall>(call.request).answer;
  const bool behind = answered && is_behind(seen, before);
  if (behind) newest_->doubt();
  if (answered && !behind) {
    seen.home = before.home;  // a connection is admitted only if it leads there
    newest_->raise(std::move(seen));
  } else if (wrote) {
    wrote_.store(true);
  }
  if (beats_++ % beats_per_note == 0) keep();
}

// Others may share the folder, and have seen more. A note that cannot be made only means that a restart knows less.
void Pulse::keep() const {
  if (folder_.empty() || database_.empty()) return;
  Result<Reached> kept = raise_seen(folder_, database_, newest_->get());
  if (kept) newest_->raise(*std::move(kept));
}

}  // namespace semel::store::postgres
