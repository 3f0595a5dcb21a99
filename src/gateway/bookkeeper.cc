// Everything but take() and the questions runs on the thread.
#include "gateway/bookkeeper.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <expected>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "runtime/pause.h"
#include "store/history.h"
#include "telemetry/doctor_note.h"
#include "telemetry/finding.h"
#include "telemetry/finding_past.h"
#include "telemetry/notebook.h"
#include "telemetry/tally_past.h"
#include "telemetry/tally_rollup.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::gateway {
namespace {

namespace asio = boost::asio;

constexpr Millis minute{60'000};
constexpr Millis written_every{10'000};
constexpr Millis summed_every{5 * minute};
constexpr Millis judged_every{60 * minute};
constexpr std::size_t notes_max = 8'192;
constexpr std::chrono::seconds finished_within{3};
const asio::use_awaitable_t<Executor> waiting{};

// Something that is due every so often.
struct Due {
  Millis every;
  Time last{};

  bool now(Time time) {
    if (time < last + every) return false;
    last = time;
    return true;
  }
};

}  // namespace

Bookkeeper::Bookkeeper(Clock& clock, std::uint64_t process)
    : clock_(clock), process_(process | 1U), ledger_(process_) {}

Bookkeeper::~Bookkeeper() {
  context_.stop();
  if (thread_.joinable()) thread_.join();
}

void Bookkeeper::start(store::History* history) {
  history_ = history;
  asio::co_spawn(context_, work(), asio::detached);
  thread_ = std::thread([this] { context_.run(); });
}

void Bookkeeper::finish() {
  if (!thread_.joinable()) return;
  context_.stop();
  thread_.join();
  if (history_ == nullptr) return;
  // What was under way is under way still; it goes on while the last rows are written.
  context_.restart();
  ask_doctor();
  bool written = false;
  asio::co_spawn(context_, write_up(clock_.wall()),
                 [&](const std::exception_ptr&, const Result<void>&) { written = true; });
  const std::chrono::nanoseconds until = clock_.stopwatch() + finished_within;
  while (!written && clock_.stopwatch() < until) context_.run_one_for(Millis{50});
  history_ = nullptr;
}

void Bookkeeper::take(telemetry::Notebook& notebook) {
  ledger_.take(notebook.tallies, clock_.wall());
  if (notebook.notes.empty()) return;
  {
    const std::scoped_lock lock(pages_.mutex);
    for (telemetry::DoctorNote& note : notebook.notes) {
      if (pages_.notes.size() < notes_max) pages_.notes.push_back(std::move(note));
    }
  }
  notebook.notes.clear();
}

void Bookkeeper::ask_doctor() {
  std::vector<telemetry::DoctorNote> notes;
  {
    const std::scoped_lock lock(pages_.mutex);
    notes.swap(pages_.notes);
  }
  for (const telemetry::DoctorNote& note : notes) doctor_.examine(note);
  doctor_.tick(clock_.wall());
}

// What cannot be written now is written later, or forgotten: nobody waits for it.
Task<void> Bookkeeper::work() {
  Due written{.every = written_every, .last = clock_.wall()};
  Due summed{.every = summed_every, .last = clock_.wall() - summed_every + minute};
  Due judged{.every = judged_every, .last = clock_.wall()};
  for (;;) {
    co_await runtime::sleep(clock_, taken_every);
    ask_doctor();
    if (history_ == nullptr) continue;
    const Time now = clock_.wall();
    if (written.now(now)) static_cast<void>(co_await ledger_.write(history_, now));
    if (judged.now(now)) {
      std::vector<telemetry::Finding> found = doctor_.verdicts(now);
      static_cast<void>(co_await telemetry::write_findings(history_, std::move(found), process_, now));
    }
    if (!summed.now(now)) continue;
    const Result<void> summed_up = co_await telemetry::roll_up(&ledger_, history_, now);
    if (summed_up) static_cast<void>(co_await telemetry::prune_history(history_, now));
  }
}

Async<void> Bookkeeper::write_up(Time now) {
  Result<void> written = co_await ledger_.write(history_, now);
  if (!written) co_return written;
  std::vector<telemetry::Finding> found = doctor_.verdicts(now);
  co_return co_await telemetry::write_findings(history_, std::move(found), process_, now);
}

Async<telemetry::TallyAnswer> Bookkeeper::tally(telemetry::TallyQuestion question) {
  co_return co_await asio::co_spawn(context_, tally_here(std::move(question)), waiting);
}

Async<std::vector<telemetry::Finding>> Bookkeeper::findings(Time from) {
  co_return co_await asio::co_spawn(context_, findings_here(from), waiting);
}

Async<telemetry::TallyAnswer> Bookkeeper::tally_here(telemetry::TallyQuestion question) {
  if (history_ == nullptr) co_return fail(Code::unavailable, "this store keeps no history");
  telemetry::TallyPast past(ledger_, *history_);
  co_return co_await past.ask(std::move(question), clock_.wall());
}

Async<std::vector<telemetry::Finding>> Bookkeeper::findings_here(Time from) {
  ask_doctor();
  const Time now = clock_.wall();
  std::vector<telemetry::Finding> found = doctor_.verdicts(now);
  if (history_ == nullptr) co_return telemetry::merged(std::move(found));
  const store::HistorySpan span{.from = from, .to = now + judged_every};
  Result<std::vector<telemetry::Finding>> before = co_await telemetry::read_findings(history_, span);
  if (!before) co_return before;
  for (telemetry::Finding& each : *before) found.push_back(std::move(each));
  co_return telemetry::merged(std::move(found));
}

}  // namespace semel::gateway
