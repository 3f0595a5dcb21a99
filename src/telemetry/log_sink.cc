#include "telemetry/log_sink.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>

#include <sys/poll.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

namespace semel::telemetry {
namespace {

constexpr std::size_t backlog_bytes_max = 1U << 20U;
constexpr int last_tries = 10;
constexpr int last_try_ms = 100;

// How much can be written without waiting. A file never blocks; a pipe or a socket that is ready has this much room.
std::size_t bytes_without_waiting(int file_descriptor) {
  struct stat about{};
  const bool file = ::fstat(file_descriptor, &about) == 0 && S_ISREG(about.st_mode);
  return file ? std::string_view::npos : PIPE_BUF;
}

}  // namespace

LogSink::LogSink(int file_descriptor)
    : file_descriptor_(file_descriptor), bytes_at_once_(bytes_without_waiting(file_descriptor)) {}

LogSink::~LogSink() {
  for (int tries = 0; !backlog_.empty() && tries < last_tries; ++tries) {
    pollfd ready{.fd = file_descriptor_, .events = POLLOUT, .revents = 0};
    ::poll(&ready, 1, last_try_ms);
    backlog_.erase(0, take(backlog_));
  }
}

void LogSink::write(std::string_view lines) {
  const std::scoped_lock lock(mutex_);
  if (!backlog_.empty()) backlog_.erase(0, take(backlog_));
  if (backlog_.empty()) lines.remove_prefix(take(lines));
  if (backlog_.size() + lines.size() <= backlog_bytes_max) {
    backlog_.append(lines);
  } else {
    lines_dropped_.fetch_add(static_cast<std::uint64_t>(std::ranges::count(lines, '\n')), std::memory_order_relaxed);
  }
}

// How many bytes are taken now.
std::size_t LogSink::take(std::string_view text) const {
  std::size_t taken = 0;
  while (taken < text.size()) {
    pollfd ready{.fd = file_descriptor_, .events = POLLOUT, .revents = 0};
    if (::poll(&ready, 1, 0) == 0) return taken;
    const std::string_view next = text.substr(taken, bytes_at_once_);
    const ssize_t size = ::write(file_descriptor_, next.data(), next.size());
    if (size <= 0) return text.size();  // there is nobody to read it, and that must not stop the requests
    taken += static_cast<std::size_t>(size);
  }
  return taken;
}

}  // namespace semel::telemetry
