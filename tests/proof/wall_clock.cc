// A wall clock that a test sets, to be preloaded: the file that SEMEL_WALL_CLOCK names holds the seconds that it is off
// by. The clocks that only count are left alone. (libfaketime cannot be loaded beside jemalloc.)
#include <array>
#include <cstdlib>

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

namespace {

long seconds_off() {
  static const char* const path = std::getenv("SEMEL_WALL_CLOCK");
  if (path == nullptr) return 0;
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 32> text{};
  const ssize_t size = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  return size > 0 ? std::strtol(text.data(), nullptr, 10) : 0;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t id, timespec* value) noexcept {
  const auto done = static_cast<int>(::syscall(SYS_clock_gettime, id, value));
  if (done == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) value->tv_sec += seconds_off();
  return done;
}

int gettimeofday(timeval* value, void*) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  *value = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* value) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (value != nullptr) *value = now.tv_sec;
  return now.tv_sec;
}
}
