// The scribe: a thread that takes the sightings of all workers, and the attempts at handlers, each second and writes
// them to the store's history.
//
// Nobody waits for it. If the store is slow, sightings gather in the workers' memory; when there is no room left they
// are dropped and counted, and a row says so. What a crash takes is the last second.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "runtime/pause.h"
#include "store/desk.h"
#include "store/history.h"
#include "telemetry/attempt_pad.h"
#include "telemetry/sighting.h"
#include "telemetry/sighting_rows.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::gateway {

// This process among those on the same store: the machine's name and the number of the process.
std::string node_name();

class Scribe {
 public:
  // `desk` names keys as the store does; null if they keep their names. All of it outlives the thread; the store is to
  // be destroyed before this, since calls that it ends are posted here.
  Scribe(store::History& history, const store::Desk* desk, Clock& clock, std::string node);
  ~Scribe();
  Scribe(const Scribe&) = delete;
  Scribe& operator=(const Scribe&) = delete;

  // Before start(). The buffer outlives the thread.
  void follow(telemetry::SightingBuffer& buffer) { buffers_.push_back(&buffer); }
  // Attempts at handlers are added there, from any thread.
  [[nodiscard]] telemetry::AttemptPad& attempts() { return attempts_; }
  void start();
  // Writes what is left and ends the thread, within a second if the store does not answer. The threads that add to the
  // buffers have ended.
  void end();

 private:
  static Task<void> run(Scribe* self);
  static Task<void> write(Scribe* self);
  static Task<std::size_t> append(Scribe* self, std::vector<store::HistoryRow> rows);
  static Task<void> prune(Scribe* self);

  store::History& history_;
  const store::Desk* desk_;
  Clock& clock_;
  telemetry::SightingRows rows_;
  telemetry::AttemptPad attempts_;
  std::vector<telemetry::SightingBuffer*> buffers_;
  std::string taken_;
  boost::asio::io_context context_{1};
  std::shared_ptr<runtime::Pause> pause_;
  bool last_ = false;  // on the thread itself
  Time pruned_at_{};
  std::thread thread_;
};

}  // namespace semel::gateway
