// Rights, limits, sockets and secrets of the process: what the kernel and systemd gave us.
#include "cli/process.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdlib.h>  // unsetenv
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>  // IWYU pragma: keep
#include <sys/types.h>
#include <unistd.h>

#include "core/check.h"
#include "http/inherited.h"
#include <semel/result.h>

namespace semel::cli {

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  core::check(getrandom(&seed, sizeof(seed), 0) == sizeof(seed), "the kernel gives random bytes");
  return seed;
}

Result<http::Inherited> inherited_sockets() {
  constexpr int first = 3;
  const char* const process = std::getenv("LISTEN_PID");
  const char* const count = std::getenv("LISTEN_FDS");
  if (process == nullptr || count == nullptr || std::to_string(getpid()) != process) return http::Inherited();
  const std::string_view digits(count);
  int sockets = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), sockets);
  if (error != std::errc{} || end != digits.data() + digits.size() || sockets < 0 || sockets > 16) {
    return fail(Code::invalid, "is not a small number");
  }
  unsetenv("LISTEN_PID");
  unsetenv("LISTEN_FDS");
  unsetenv("LISTEN_FDNAMES");
  std::vector<int> passed;
  for (int socket = first; socket < first + sockets; ++socket) {
    fcntl(socket, F_SETFD, FD_CLOEXEC);
    passed.push_back(socket);
  }
  return http::Inherited::of(passed);
}

std::size_t raise_file_limit() {
  rlimit limit{};
  core::check(getrlimit(RLIMIT_NOFILE, &limit) == 0, "every process has a limit of files");
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

Result<void> drop_privileges(const std::string& user) {
  if (user.empty() || geteuid() != 0) return {};
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 16'384> names{};
  if (getpwnam_r(user.c_str(), &entry, names.data(), names.size(), &found) != 0 || found == nullptr) {
    return fail(Code::invalid, "server.user: there is no user \"" + user + "\"");
  }
  const bool become = initgroups(user.c_str(), entry.pw_gid) == 0 && setgid(entry.pw_gid) == 0 &&
                      prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0 && setuid(entry.pw_uid) == 0;
  // Of root's rights only this one is kept. Where the system does not allow even this, low ports cannot be used.
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  constexpr std::uint32_t low_ports = 1U << static_cast<unsigned>(CAP_NET_BIND_SERVICE);
  std::array<__user_cap_data_struct, 2> rights{};
  rights[0] = {.effective = low_ports, .permitted = low_ports, .inheritable = 0};
  if (become && syscall(SYS_capset, &header, rights.data()) != 0) {
    rights[0] = {};
    if (syscall(SYS_capset, &header, rights.data()) != 0) return fail(Code::unavailable, "cannot give up privileges");
  }
  if (!become || setuid(0) == 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return fail(Code::unavailable, "cannot become the user \"" + user + "\"");
  }
  return {};
}

void keep_files_private() {
  constexpr mode_t everybody_else = 077;
  umask(everybody_else);
}

void keep_memory_private() {
#if !__has_feature(address_sanitizer)  // its search for leaks looks into this process
  core::check(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0, "a process may close itself");
#endif
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

}  // namespace semel::cli
