#include "cli/process.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "core/check.h"

namespace semel {

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  check(getrandom(&seed, sizeof(seed), 0) == sizeof(seed), "the kernel gives random bytes");
  return seed;
}

void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void keep_files_private() {
  constexpr mode_t everybody_else = 077;
  umask(everybody_else);
}

std::string program_path() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return "semel";
  const std::filesystem::path nearby = std::filesystem::proximate(program, error);
  return error || nearby.string().starts_with("..") ? program.string() : nearby.string();
}

bool watched() {
  return isatty(STDERR_FILENO) == 1;
}

}  // namespace semel
