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

Result<std::vector<AuditEntry>> AuditFile::read_now(std::uint64_t after, std::size_t limit) const {
  std::vector<AuditEntry> found;
  const Result<std::string> content = content_of(path_);
  if (!content) return std::unexpected(content.error());
  const std::string_view bytes = *content;
  for (std::size_t at = 0, end = 0; found.size() < limit; at = end + 1) {
    end = bytes.find('\n', at);
    if (end == std::string_view::npos) break;
    std::optional<AuditEntry> entry = parse(bytes.substr(at, end - at));
    if (!entry) return fail(Code::corrupt, "the audit log has a line that is no entry");
    if (entry->number > after) found.push_back(*std::move(entry));
  }
  return found;
}

}  // namespace semel::store::embedded
