// Reading, making and replacing the file. Each is done at most once per start, and never retried.
#include "store/embedded/identity_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <expected>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>
#include <xxhash.h>

#include "core/crypto.h"
#include "core/identity.h"
#include "store/embedded/folder.h"
#include "store/identity.h"
#include <semel/result.h>

namespace semel::store::embedded {
namespace {

namespace fs = std::filesystem;

constexpr const char* file_name = "semel.identity";
constexpr const char* half_made_name = "semel.identity.new";
constexpr std::string_view magic = "SEMELID1";
constexpr std::size_t checksum_at = magic.size() + core::wrapped_bytes;
constexpr std::size_t file_bytes = checksum_at + sizeof(std::uint64_t);

std::unexpected<Error> cannot(const char* what, const fs::path& path) {
  return fail(Code::unavailable,
              std::string("cannot ") + what + " " + path.string() + ": " + std::generic_category().message(errno));
}

std::string content_of(std::string_view wrapped) {
  std::string content(magic);
  content += wrapped;
  const std::uint64_t checksum = XXH3_64bits(content.data(), content.size());  // little-endian, as codec.cc asserts
  std::array<char, sizeof(checksum)> bytes{};
  std::memcpy(bytes.data(), &checksum, sizeof(checksum));
  return content.append(bytes.data(), bytes.size());
}

// The wrapped identity in the file; none if there is no file.
Result<std::optional<std::string>> load(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return std::nullopt;
  if (file < 0) return cannot("open", path);
  std::array<char, file_bytes + 1> bytes{};
  const ssize_t got = ::read(file, bytes.data(), bytes.size());
  const int error = errno;
  ::close(file);
  errno = error;
  if (got < 0) return cannot("read", path);
  const std::string_view content(bytes.data(), static_cast<std::size_t>(got));
  const std::string_view wrapped = content.substr(0, checksum_at).substr(std::min(content.size(), magic.size()));
  if (content != content_of(wrapped) || content.size() != file_bytes) {
    return fail(Code::corrupt, "the file " + path.string() +
                                   ", without which no key of the store can be found, is damaged. Restore it from a "
                                   "backup; it belongs to the folder that it lies in");
  }
  return std::string(wrapped);
}

Result<void> write_synced(const fs::path& path, std::string_view content) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return cannot("make", path);
  const bool written =
      ::write(file, content.data(), content.size()) == static_cast<ssize_t>(content.size()) && ::fsync(file) == 0;
  const int error = errno;
  ::close(file);
  errno = error;
  if (!written) return cannot("write", path);
  return {};
}

// A crash before the renaming leaves the old file, a crash after it the new one.
Result<void> save(const fs::path& folder, std::string_view wrapped) {
  const fs::path half_made = folder / half_made_name;
  const fs::path whole = folder / file_name;
  if (Result<void> written = write_synced(half_made, content_of(wrapped)); !written) return written;
  if (::rename(half_made.c_str(), whole.c_str()) != 0) return cannot("rename", half_made);
  return sync_folder(folder);
}

}  // namespace

Result<std::optional<core::StoreIdentity>> settle_identity(const fs::path& folder, Age age,
                                                           const std::vector<core::AesKey>& keys) {
  const Result<std::optional<std::string>> wrapped = load(folder / file_name);
  if (!wrapped) return std::unexpected(wrapped.error());
  if (const std::optional<std::string>& text = *wrapped) {
    Result<Known> known = open_identity(*text, keys, "the store at " + folder.string());
    if (!known) return std::unexpected(std::move(known.error()));
    // Synced even if nothing changes: the start that renamed the file may have been cut short before it had synced
    // that.
    const std::optional<std::string>& rewrapped = known->rewrapped;
    Result<void> saved = rewrapped ? save(folder, *rewrapped) : sync_folder(folder);
    if (!saved) return std::unexpected(std::move(saved.error()));
    return known->identity;
  }
  if (age == Age::grown || keys.empty()) return std::nullopt;
  const Newborn made = new_identity(keys);
  if (Result<void> saved = save(folder, made.wrapped); !saved) return std::unexpected(saved.error());
  return made.identity;
}

bool has_plain_names(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / "CURRENT", error) && !fs::exists(folder / file_name, error);
}

}  // namespace semel::store::embedded
