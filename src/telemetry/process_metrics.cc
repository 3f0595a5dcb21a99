// Names and help texts are those of Prometheus' own libraries.
#include "telemetry/process_metrics.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <sys/poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "telemetry/exposition.h"

namespace semel::telemetry {
namespace {

// Empty if it cannot be read.
std::string content_of(const char* path) {
  std::ifstream file(path);
  if (!file) return {};
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// What stands in /proc/self/stat behind the name of the program, which may hold anything.
struct Stat {
  double cpu_seconds = 0;
  double started = 0;  // seconds since the system did
  std::uint64_t virtual_bytes = 0;
  std::uint64_t resident_bytes = 0;
};

std::optional<Stat> read_stat() {
  const std::string text = content_of("/proc/self/stat");
  const std::size_t end = text.rfind(')');
  if (end == std::string::npos) return std::nullopt;
  std::istringstream rest(text.substr(end + 1));
  const std::vector<std::string> words(std::istream_iterator<std::string>(rest), {});
  constexpr std::size_t user = 11;  // the fields of proc(5), counted from the state of the process
  constexpr std::size_t system = 12;
  constexpr std::size_t start = 19;
  constexpr std::size_t size = 20;
  constexpr std::size_t resident = 21;
  if (words.size() <= resident) return std::nullopt;
  const auto number = [&](std::size_t at) { return std::strtoull(words[at].c_str(), nullptr, 10); };
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  return Stat{.cpu_seconds = static_cast<double>(number(user) + number(system)) / ticks,
              .started = static_cast<double>(number(start)) / ticks,
              .virtual_bytes = number(size),
              .resident_bytes = number(resident) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))};
}

// When the system started, in seconds since 1970.
std::optional<double> boot_time() {
  const std::string text = content_of("/proc/stat");
  const std::size_t at = text.find("btime ");
  if (at == std::string::npos) return std::nullopt;
  return std::strtod(text.c_str() + at + std::string_view("btime ").size(), nullptr);
}

// A process whose memory is private may not read /proc/self/fd. So the descriptors are asked, from the lowest on, which
// is how the system gives them out, until none of the next eight thousand is open.
std::uint64_t open_files(rlim_t limit) {
  constexpr std::size_t piece = 4'096;
  std::vector<pollfd> asked(piece);
  std::uint64_t count = 0;
  std::size_t empty = 0;
  for (rlim_t from = 0; from < limit && empty < 2; from += piece) {
    const auto size = static_cast<std::size_t>(std::min<rlim_t>(piece, limit - from));
    for (std::size_t i = 0; i < size; ++i) asked[i] = {.fd = static_cast<int>(from + i), .events = 0, .revents = 0};
    if (poll(asked.data(), size, 0) < 0) break;
    const auto closed = std::count_if(asked.begin(), asked.begin() + static_cast<std::ptrdiff_t>(size),
                                      [](const pollfd& each) { return (each.revents & POLLNVAL) != 0; });
    const std::uint64_t open = size - static_cast<std::size_t>(closed);
    count += open;
    empty = open == 0 ? empty + 1 : 0;
  }
  return count;
}

std::string limit_text(rlim_t limit) {
  return limit == RLIM_INFINITY ? "-1" : std::to_string(limit);
}

}  // namespace

void render_process(std::string& out) {
  if (const std::optional<Stat> stat = read_stat()) {
    heading(out, "process_cpu_seconds_total", "counter", "Total user and system CPU time spent in seconds.");
    sample(out, "process_cpu_seconds_total", stat->cpu_seconds);
    heading(out, "process_virtual_memory_bytes", "gauge", "Virtual memory size in bytes.");
    sample(out, "process_virtual_memory_bytes", stat->virtual_bytes);
    heading(out, "process_resident_memory_bytes", "gauge", "Resident memory size in bytes.");
    sample(out, "process_resident_memory_bytes", stat->resident_bytes);
    if (const std::optional<double> boot = boot_time()) {
      heading(out, "process_start_time_seconds", "gauge", "Start time of the process since unix epoch in seconds.");
      sample(out, "process_start_time_seconds", *boot + stat->started);
    }
  }
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  heading(out, "process_open_fds", "gauge", "Number of open file descriptors.");
  sample(out, "process_open_fds", open_files(files.rlim_cur));
  heading(out, "process_max_fds", "gauge", "Maximum number of open file descriptors.");
  sample(out, "process_max_fds", limit_text(files.rlim_cur));
}

}  // namespace semel::telemetry
