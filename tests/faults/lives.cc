// Forks, kills and shared memory, so that what a life noted is there when it was killed.
#include "lives.h"

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/capable_store.h"
#include "store/embedded/store.h"
#include <semel/clock.h>
#include <semel/stores.h>

namespace semel::faults {

void* shared_memory(std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
  return memory;
}

store::CapableStore open_store(const std::filesystem::path& folder, Clock& clock) {
  EmbeddedOptions options;
  options.path = folder / "data";
  return must(store::embedded::open_with_keys(clock, options, {}));
}

bool in_a_process(const std::function<void()>& life, const Death& death) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      life();
      _exit(0);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      _exit(1);
    }
  }
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (death.due && death.due()) {
      std::this_thread::sleep_for(death.later);
      kill(child, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (WIFSIGNALED(status)) return true;
  if (WEXITSTATUS(status) != 0) throw std::runtime_error("a life ended badly");
  return false;
}

std::uint64_t live_and_die(const std::function<void()>& life, std::uint64_t kills, std::uint64_t all,
                           const std::function<std::uint64_t()>& done) {
  std::uint64_t killed = 0;
  for (std::uint64_t i = 0; i < kills; ++i) {
    const std::uint64_t goal = all * (i + 1) / (kills + 2);
    const Death death{.due = [&done, goal] { return done() >= goal; }, .later = std::chrono::milliseconds(i * 7 % 20)};
    killed += in_a_process(life, death) ? 1 : 0;
  }
  in_a_process(life, {});
  return killed;
}

int main_of(int argc, char** argv, const char* what,
            const std::function<int(std::uint64_t, std::uint64_t, const std::filesystem::path&)>& run) {
  if (argc != 4) {
    std::fprintf(stderr, "%s %s KILLS FOLDER\n", argv[0], what);
    return 2;
  }
  const std::filesystem::path folder = argv[3];
  try {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    const int code = run(std::strtoull(argv[1], nullptr, 10), std::strtoull(argv[2], nullptr, 10), folder);
    std::filesystem::remove_all(folder);
    return code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
}

void expect(bool holds, const std::string& what, int& failures) {
  if (!holds) std::printf("FAILED: %s\n", what.c_str());
  if (!holds) ++failures;
}

double seconds_since(std::chrono::steady_clock::time_point from) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
}

}  // namespace semel::faults
