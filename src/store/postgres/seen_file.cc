// One file per database, of one line. It is replaced as a whole: a crash leaves the old one or the new one.
#include "store/postgres/seen_file.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <expected>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#include "store/postgres/seen.h"
#include <semel/result.h>

namespace semel::store::postgres {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view beginning = "semel timeline ";
constexpr std::string_view between = " pulse ";    // files of earlier versions end before it
constexpr std::string_view before_place = " at ";  // the same

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

bool read_seen(std::string_view content, Reached& seen) {
  if (!content.starts_with(beginning) || !content.ends_with('\n')) return false;
  content = content.substr(beginning.size(), content.size() - beginning.size() - 1);
  if (const std::size_t at = content.find(before_place); at != std::string_view::npos) {
    seen.place = content.substr(at + before_place.size());
    content = content.substr(0, at);
    if (seen.place.empty() || seen.place.find(' ') != std::string::npos) return false;
  }
  const std::size_t middle = content.find(between);
  if (!read_number(content.substr(0, middle), seen.timeline) || seen.timeline == 0) return false;
  return middle == std::string_view::npos ||
         (read_number(content.substr(middle + between.size()), seen.pulse) && seen.pulse >= 0);
}

std::unexpected<Error> cannot(const char* what, const fs::path& path) {
  return fail(Code::unavailable,
              std::string("cannot ") + what + " " + path.string() + ": " + std::generic_category().message(errno));
}

fs::path path_of(const fs::path& folder, const std::string& database) {
  return folder / ("postgres-" + database + ".timeline");
}

// Closes it, and leaves errno as it was.
void close_quietly(int file) {
  const int error = errno;
  ::close(file);
  errno = error;
}

}  // namespace

Result<Reached> load_seen(const fs::path& folder, const std::string& database) {
  const fs::path path = path_of(folder, database);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return Reached{};
  if (file < 0) return cannot("open", path);
  std::array<char, 128> bytes{};
  const ssize_t got = ::read(file, bytes.data(), bytes.size());
  close_quietly(file);
  if (got < 0) return cannot("read", path);
  const std::string_view content(bytes.data(), static_cast<std::size_t>(got));
  Reached seen;
  if (read_seen(content, seen)) return seen;
  return fail(Code::corrupt, "the file " + path.string() +
                                 " is damaged. It says which primary was the last one, and how far it was; remove "
                                 "it if you know that the address leads to that");
}

Result<void> save_seen(const fs::path& folder, const std::string& database, const Reached& seen) {
  const fs::path path = path_of(folder, database);
  const fs::path half_made = path.string() + ".new";
  std::string content =
      std::string(beginning) + std::to_string(seen.timeline) + std::string(between) + std::to_string(seen.pulse);
  if (!seen.place.empty()) content.append(before_place).append(seen.place);
  content += '\n';
  std::error_code ignored;  // the next step says what is wrong
  fs::create_directories(folder, ignored);
  const int file = ::open(half_made.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return cannot("make", half_made);
  const bool written =
      ::write(file, content.data(), content.size()) == static_cast<ssize_t>(content.size()) && ::fsync(file) == 0;
  close_quietly(file);
  if (!written) return cannot("write", half_made);
  if (::rename(half_made.c_str(), path.c_str()) != 0) return cannot("rename", half_made);
  const int names = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (names < 0) return cannot("open", folder);
  const bool synced = ::fsync(names) == 0;
  close_quietly(names);
  if (!synced) return cannot("sync", folder);
  return {};
}

}  // namespace semel::store::postgres
