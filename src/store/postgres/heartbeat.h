// A thread that does one thing again and again, so that nothing else that the process does can delay it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include <boost/asio/io_context.hpp>

#include "runtime/pause.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::store::postgres {

class Heartbeat {
 public:
  Heartbeat(Clock& clock, Millis every, std::function<Task<void>()> beat);
  ~Heartbeat() { stop(); }  // NOLINT(bugprone-exception-escape): what nobody can handle ends the process
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  // The first call starts it. From any thread.
  void start();
  // Waits for the beat that is under way. There is none after that.
  void stop();

 private:
  Task<void> go_on();

  const Millis every_;
  const std::function<Task<void>()> beat_;
  boost::asio::io_context context_{1};
  Clock& clock_;
  std::shared_ptr<runtime::Pause> pause_;  // on the thread; a pause that was rung once is over for good
  bool ending_ = false;                    // on the thread
  std::once_flag started_;
  std::thread thread_;
};

}  // namespace semel::store::postgres
