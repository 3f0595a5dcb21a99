#include "store/embedded/folder.h"

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <semel/result.h>

namespace semel::store::embedded {
namespace {

namespace fs = std::filesystem;

}  // namespace

Result<void> sync_folder(const fs::path& folder) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = file >= 0 && ::fsync(file) == 0;
  const std::string why = synced ? "" : std::generic_category().message(errno);
  if (file >= 0) ::close(file);
  if (!synced) return fail(Code::unavailable, "cannot sync the folder " + folder.string() + ": " + why);
  return {};
}

Result<void> make_folder(const fs::path& folder) {
  std::error_code error;
  const fs::path whole = fs::absolute(folder, error).lexically_normal();
  fs::path made;
  for (const fs::path& part : whole) {
    const fs::path above = made;
    made /= part;
    if (error || part.empty() || fs::is_directory(made, error)) continue;
    if (::mkdir(made.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
      error = std::error_code(errno, std::generic_category());
      break;
    }
    error.clear();
    if (Result<void> synced = sync_folder(above); !synced) return synced;
  }
  if (error) return fail(Code::unavailable, "cannot make the folder " + folder.string() + ": " + error.message());
  if (!fs::is_directory(whole, error)) return fail(Code::unavailable, folder.string() + " is there, but not a folder");
  return {};
}

}  // namespace semel::store::embedded
