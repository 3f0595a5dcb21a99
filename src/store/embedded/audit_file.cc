// Everything here runs on the thread of aside_: a line is written, synced, and only then told of.
#include "store/embedded/audit_file.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
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

#include "core/encoding.h"
#include "store/audit_log.h"
#include <semel/async.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::store::embedded {
namespace {

std::optional<AuditEntry> parse(std::string_view line) {
  AuditEntry entry;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), entry.number);
  if (error != std::errc()) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  const std::size_t hash_at = 1;
  const std::size_t text_at = hash_at + (2 * entry.hash.size()) + 1;
  if (line.size() < text_at || line[0] != ' ' || line[text_at - 1] != ' ') return std::nullopt;
  const std::optional<std::string> hash = core::from_hex(line.substr(hash_at, 2 * entry.hash.size()));
  if (!hash) return std::nullopt;
  std::ranges::copy(*hash, entry.hash.begin());
  entry.text = line.substr(text_at);
  return entry;
}

std::string line_of(const AuditEntry& entry) {
  return std::to_string(entry.number) + " " + core::to_hex(entry.hash) + " " + entry.text + "\n";
}

std::unexpected<Error> failed(const char* what) {
  return fail(Code::unavailable, std::string("the audit log cannot be ") + what + ": " + std::strerror(errno));
}

// Nothing if there is no such file. Not by a stream: what a disk does may not end the process.
Result<std::string> content_of(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return std::string();
  if (file < 0) return failed("read");
  std::string bytes;
  std::string piece(64U << 10U, '\0');
  ssize_t count = 0;
  do {
    count = ::read(file, piece.data(), piece.size());
    if (count > 0) bytes.append(piece, 0, static_cast<std::size_t>(count));
  } while (count > 0 || (count < 0 && errno == EINTR));
  const int error = errno;
  ::close(file);
  errno = error;
  if (count < 0) return failed("read");
  return bytes;
}

// The whole lines of a file, from one of them on.
class LineReader {
 public:
  LineReader(int file, std::uint64_t at) : file_(file), buffer_at_(at) {}

  // Without its end. None if there are no more.
  Result<std::optional<std::string>> next() {
    for (;;) {
      const std::size_t end = buffer_.find('\n', used_);
      if (end != std::string::npos) {
        line_at_ = buffer_at_ + used_;
        std::string line = buffer_.substr(used_, end - used_);
        used_ = end + 1;
        return line;
      }
      buffer_.erase(0, used_);
      buffer_at_ += std::exchange(used_, 0);
      const std::size_t before = buffer_.size();
      buffer_.resize(before + piece_bytes);
      const ssize_t count =
          ::pread(file_, buffer_.data() + before, piece_bytes, static_cast<off_t>(buffer_at_ + before));
      const int error = errno;
      buffer_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
      errno = error;
      if (count < 0 && error != EINTR) return failed("read");
      if (count == 0) return std::nullopt;
    }
  }
  // Where the last line began.
  [[nodiscard]] std::uint64_t line_at() const { return line_at_; }

 private:
  static constexpr std::size_t piece_bytes = 64U << 10U;

  int file_;
  std::string buffer_;
  std::uint64_t buffer_at_;  // where the buffer begins in the file
  std::size_t used_ = 0;     // of the buffer
  std::uint64_t line_at_ = 0;
};

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

AuditFile::~AuditFile() {
  if (file_ >= 0) ::close(file_);
}

Async<AuditEntry> AuditFile::append(std::string text) {
  Result<AuditEntry> added;
  const auto write = [&] { added = append_now(text); };
  co_await aside_.run(write);
  co_return added;
}

Async<std::vector<AuditEntry>> AuditFile::read(std::uint64_t after, std::size_t limit) {
  Result<std::vector<AuditEntry>> found;
  const auto look = [&] { found = read_now(after, limit); };
  co_await aside_.run(look);
  co_return found;
}

// Reads the whole chain once, cuts off an entry that was never acknowledged, and makes the file's name durable.
Result<void> AuditFile::open() {
  if (file_ >= 0) return {};
  const Result<std::string> content = content_of(path_);
  if (!content) return std::unexpected(content.error());
  const std::string& bytes = *content;
  const std::size_t whole = bytes.find_last_of('\n') + 1;  // 0 if there is none
  std::uint64_t number = 0;
  Digest hash{};
  for (std::size_t at = 0; at < whole;) {
    const std::size_t end = bytes.find('\n', at);
    const std::optional<AuditEntry> entry = parse(std::string_view(bytes).substr(at, end - at));
    if (!entry || entry->number != number + 1 || entry->hash != audit_hash(hash, entry->number, entry->text)) {
      return fail(Code::corrupt, "the audit log " + path_.string() + " is broken behind entry " +
                                     std::to_string(number) +
                                     "; keep it for those who look into it, and move it away to begin a new one");
    }
    number = entry->number;
    hash = entry->hash;
    at = end + 1;
  }
  const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return failed("opened");
  const int folder = ::open(path_.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool named = folder >= 0 && ::fsync(folder) == 0;
  if (folder >= 0) ::close(folder);
  if (!named || ::ftruncate(file, static_cast<off_t>(whole)) != 0) {
    ::close(file);
    return failed("opened");
  }
  file_ = file;
  last_number_ = number;
  last_hash_ = hash;
  return {};
}

// After a failed write only reading the file again can tell what it holds.
Result<AuditEntry> AuditFile::append_now(const std::string& text) {
  if (Result<void> opened = open(); !opened) return std::unexpected(std::move(opened.error()));
  AuditEntry entry{.number = last_number_ + 1, .hash = audit_hash(last_hash_, last_number_ + 1, text), .text = text};
  if (!write_all(file_, line_of(entry)) || ::fdatasync(file_) != 0) {
    const auto error = failed("written");
    ::close(file_);
    file_ = -1;
    return error;
  }
  last_number_ = entry.number;
  last_hash_ = entry.hash;
  return entry;
}

Result<std::vector<AuditEntry>> AuditFile::read_now(std::uint64_t after, std::size_t limit) {
  const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return std::vector<AuditEntry>();
  if (file < 0) return failed("read");
  Result<std::vector<AuditEntry>> found = read_from(file, after, limit);
  ::close(file);
  return found;
}

// Begins at the last mark that is not behind what is wanted. Somebody may have put another file in this one's place;
// then the marks are wrong, and the file is read from its beginning.
Result<std::vector<AuditEntry>> AuditFile::read_from(int file, std::uint64_t after, std::size_t limit) {
  std::vector<AuditEntry> found;
  const std::size_t mark = marks_.empty() ? 0 : std::min<std::size_t>(after / marked_every, marks_.size() - 1);
  std::optional<std::uint64_t> expected = mark * marked_every + 1;
  LineReader lines(file, marks_.empty() ? 0 : marks_[mark]);
  while (found.size() < limit) {
    const Result<std::optional<std::string>> line = lines.next();
    if (!line) return std::unexpected(line.error());
    const std::optional<std::string>& text = *line;
    std::optional<AuditEntry> entry = text ? parse(*text) : std::nullopt;
    if (expected && mark > 0 && (!entry || entry->number != *expected)) {
      marks_.clear();
      return read_from(file, after, limit);
    }
    expected.reset();
    if (!text) break;
    if (!entry) return fail(Code::corrupt, "the audit log has a line that is no entry");
    if (entry->number == marks_.size() * marked_every + 1) marks_.push_back(lines.line_at());
    if (entry->number > after) found.push_back(*std::move(entry));
  }
  return found;
}

}  // namespace semel::store::embedded
