// One file per database, of one line. It is replaced as a whole: a crash leaves the old one or the new one. Who
// replaces it holds a lock, so that nobody replaces a newer one that was not there when they looked.
#include "store/postgres/seen_file.h"

#include <algorithm>
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
#include <stdlib.h>
#include <sys/file.h>
#include <sys/poll.h>
#include <sys/types.h>
#include <unistd.h>

#include "store/postgres/seen.h"
#include <semel/result.h>

namespace semel::store::postgres {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view beginning = "semel timeline ";
// In this order. Files of earlier versions end before one of them.
constexpr std::string_view before_pulse = " pulse ";
constexpr std::string_view before_place = " at ";
constexpr std::string_view before_home = " home ";

// Two seconds, by the system's own timer, since another process is waited for. One that is frozen while it has the lock
// must not keep us from ending.
constexpr int lock_tries = 200;
constexpr int lock_pause_ms = 10;

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

// Takes the next word off the text.
std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

// The same for a name that may stand there, and the word behind it. False: that is not a word.
bool take_named(std::string_view& text, std::string_view name, std::string_view& word) {
  if (!text.starts_with(name)) return true;
  text.remove_prefix(name.size());
  word = take_word(text);
  const auto visible = [](char each) { return each > ' ' && each <= '~'; };
  return !word.empty() && std::ranges::all_of(word, visible);
}

bool read_seen(std::string_view content, Reached& seen) {
  if (!content.starts_with(beginning) || !content.ends_with('\n')) return false;
  content = content.substr(beginning.size(), content.size() - beginning.size() - 1);
  if (!read_number(take_word(content), seen.timeline) || seen.timeline == 0) return false;
  std::string_view pulse = "0";
  std::string_view place;
  std::string_view home;
  const bool sound = take_named(content, before_pulse, pulse) && take_named(content, before_place, place) &&
                     take_named(content, before_home, home) && content.empty();
  seen.place = place;
  seen.home = home;
  return sound && read_number(pulse, seen.pulse) && seen.pulse >= 0;
}

std::string written(const Reached& seen) {
  std::string content(beginning);
  content.append(std::to_string(seen.timeline)).append(before_pulse).append(std::to_string(seen.pulse));
  if (!seen.place.empty()) content.append(before_place).append(seen.place);
  if (!seen.home.empty()) content.append(before_home).append(seen.home);
  return content + '\n';
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

// Until it is destroyed no other process, and no other thread, has one of the same path.
class FileLock {
 public:
  explicit FileLock(const fs::path& path) : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    for (int i = 0; file_ >= 0 && !held_ && i < lock_tries; ++i) {
      if (i > 0) ::poll(nullptr, 0, lock_pause_ms);
      held_ = ::flock(file_, LOCK_EX | LOCK_NB) == 0;
      if (!held_ && errno != EWOULDBLOCK && errno != EINTR) return;
    }
  }
  ~FileLock() {
    if (file_ >= 0) close_quietly(file_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  // If not, errno says why.
  [[nodiscard]] bool held() const { return held_; }

 private:
  int file_;
  bool held_ = false;
};

// The new file has a name that nobody else uses: a gateway of an earlier version takes no lock.
Result<void> replace(const fs::path& path, const std::string& content) {
  std::string half_made = path.string() + ".XXXXXX";
  const int file = ::mkostemp(half_made.data(), O_CLOEXEC);
  if (file < 0) return cannot("make", half_made);
  const bool kept =
      ::write(file, content.data(), content.size()) == static_cast<ssize_t>(content.size()) && ::fsync(file) == 0;
  close_quietly(file);
  if (kept && ::rename(half_made.c_str(), path.c_str()) == 0) return {};
  std::unexpected<Error> error = cannot(kept ? "rename" : "write", half_made);
  ::unlink(half_made.c_str());
  return error;
}

Result<void> sync(const fs::path& folder) {
  const int names = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (names < 0) return cannot("open", folder);
  const bool synced = ::fsync(names) == 0;
  close_quietly(names);
  if (!synced) return cannot("sync", folder);
  return {};
}

}  // namespace

Result<Reached> load_seen(const fs::path& folder, const std::string& database) {
  const fs::path path = path_of(folder, database);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return Reached{};
  if (file < 0) return cannot("open", path);
  std::array<char, 256> bytes{};
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

Result<Reached> raise_seen(const fs::path& folder, const std::string& database, const Reached& seen) {
  const fs::path path = path_of(folder, database);
  std::error_code ignored;  // the next step says what is wrong
  fs::create_directories(folder, ignored);
  const fs::path lock_path = path.string() + ".lock";
  const FileLock lock(lock_path);
  if (!lock.held()) return cannot("lock", lock_path);
  Result<Reached> kept = load_seen(folder, database);
  if (!kept) return kept;
  if (is_beyond(seen, *kept)) {
    if (const Result<void> replaced = replace(path, written(seen)); !replaced) return std::unexpected(replaced.error());
    kept = seen;
  }
  // Also what another has put there: it may have ended before this.
  if (const Result<void> synced = sync(folder); !synced) return std::unexpected(synced.error());
  return kept;
}

}  // namespace semel::store::postgres
