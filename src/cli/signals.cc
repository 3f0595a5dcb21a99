#include "cli/signals.h"

#include <chrono>
#include <csignal>
#include <ctime>

#include <signal.h>

namespace semel::cli {
namespace {

sigset_t ours() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, number);
  return set;
}

}  // namespace

void take_over_signals() {
  const sigset_t set = ours();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

Signal next_signal(std::chrono::milliseconds limit) {
  const sigset_t set = ours();
  const timespec time{.tv_sec = limit.count() / 1000, .tv_nsec = limit.count() % 1000 * 1'000'000};
  switch (sigtimedwait(&set, nullptr, &time)) {
    case SIGHUP:
      return Signal::reload;
    case SIGTERM:
    case SIGINT:
      return Signal::stop;
    default:
      return Signal::none;
  }
}

}  // namespace semel::cli
