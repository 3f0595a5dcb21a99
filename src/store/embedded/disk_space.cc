#include "store/embedded/disk_space.h"

#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>

#include <sys/statvfs.h>

#include <semel/result.h>

namespace semel::store::embedded {

Result<void> DiskSpace::check() {
  if (had_room_) return {};
  struct statvfs answer{};
  if (::statvfs(folder_.c_str(), &answer) != 0) {
    return fail(Code::unavailable,
                "cannot ask for free space at " + folder_.string() + ": " + std::generic_category().message(errno));
  }
  const std::uint64_t free_bytes = static_cast<std::uint64_t>(answer.f_bavail) * answer.f_frsize;
  had_room_ = free_bytes >= free_bytes_min_;
  if (had_room_) return {};
  return fail(Code::full, "only " + std::to_string(free_bytes) + " bytes are free at " + folder_.string() +
                              ", less than the " + std::to_string(free_bytes_min_) +
                              " that are kept for ending what runs; make room");
}

}  // namespace semel::store::embedded
