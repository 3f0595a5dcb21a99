// The bookkeeper: one thread beside those of requests that adds up the tallies, asks the doctor, and keeps both in the
// history of the store.
//
//   worker threads ──take(), about once a second──▶ TallyLedger, notes ──▶ the bookkeeper's thread ──▶ History
//
// No request waits for it. If it does not keep up, notes are dropped, and tallies wait in memory (tally_ledger.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "store/history.h"
#include "telemetry/doctor.h"
#include "telemetry/doctor_watch.h"
#include "telemetry/finding.h"
#include "telemetry/notebook.h"
#include "telemetry/tally_ledger.h"
#include "telemetry/tally_past.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::gateway {

class Bookkeeper {
 public:
  static constexpr Millis taken_every{1'000};

  // `process` must differ from process to process.
  Bookkeeper(Clock& clock, std::uint64_t process);
  ~Bookkeeper();
  Bookkeeper(const Bookkeeper&) = delete;
  Bookkeeper& operator=(const Bookkeeper&) = delete;

  // Call it once. `history` is null if the store has none: then everything is forgotten with the process. It must live
  // until finish() has returned.
  void start(store::History* history);
  // Writes what is left, within a few seconds, and ends the thread. The threads of requests have ended.
  void finish();

  // Takes what a thread has written down, and clears it. From any thread.
  void take(telemetry::Notebook& notebook);
  [[nodiscard]] telemetry::DoctorWatch& watch() { return watch_; }

  // From any executor.
  Async<telemetry::TallyAnswer> tally(telemetry::TallyQuestion question);
  // What was found since `from`, and what would be found now.
  Async<std::vector<telemetry::Finding>> findings(Time from);

 private:
  struct Pages {
    std::mutex mutex;
    std::vector<telemetry::DoctorNote> notes;  // that nobody has looked at yet
  };

  Task<void> work();
  Async<void> write_up(Time now);
  Async<telemetry::TallyAnswer> tally_here(telemetry::TallyQuestion question);
  Async<std::vector<telemetry::Finding>> findings_here(Time from);
  void ask_doctor();

  Clock& clock_;
  const std::uint64_t process_;
  boost::asio::io_context context_{1};
  telemetry::TallyLedger ledger_;
  telemetry::DoctorWatch watch_;
  telemetry::Doctor doctor_{watch_};  // of the thread
  Pages pages_;
  store::History* history_ = nullptr;
  std::thread thread_;
};

}  // namespace semel::gateway
