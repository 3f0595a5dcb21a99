// Appends lines to a file.
#include "load/book.h"

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "core/check.h"
#include "core/encoding.h"
#include "core/sha256.h"

namespace semel::proof {
namespace {

constexpr std::size_t pending_bytes_max = 1U << 16U;
constexpr mode_t readable = 0644;
constexpr unsigned char ascii_begin = 0x20;
constexpr unsigned char ascii_end = 0x7f;
constexpr double nanoseconds = 1e-9;

}  // namespace

double now_s() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * nanoseconds;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      out += '\\';
      out += letter;
    } else if (byte >= ascii_begin && byte < ascii_end) {
      out += letter;
    } else {
      out += "\\u00";
      out += core::to_hex(std::string_view(&letter, 1));
    }
  }
  return out += '"';
}

std::string digest_of(std::string_view bytes) {
  return core::to_hex(core::sha256(bytes));
}

Book::Book(const std::string& path) : file_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, readable)) {
  core::check(file_ >= 0, "the book can be opened");
}

Book::~Book() {
  flush();
  ::close(file_);
}

void Book::write_out(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    core::check(written > 0, "the book can be written");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void Book::add(std::string_view line) {
  const std::lock_guard lock(mutex_);
  pending_.append(line) += '\n';
  if (pending_.size() < pending_bytes_max) return;
  write_out(pending_);
  pending_.clear();
}

void Book::flush() {
  const std::lock_guard lock(mutex_);
  write_out(pending_);
  pending_.clear();
}

std::uint64_t Book::number_and_sync(std::string_view rest) {
  std::unique_lock lock(mutex_);
  const std::uint64_t number = ++numbers_;
  pending_.append("{\"seq\": ").append(std::to_string(number)).append(", ").append(rest) += '\n';
  while (synced_to_ < number) {
    if (syncing_) {
      synced_.wait(lock);
      continue;
    }
    syncing_ = true;
    const std::string lines = std::exchange(pending_, {});
    const std::uint64_t last = numbers_;
    lock.unlock();
    write_out(lines);
    core::check(::fdatasync(file_) == 0, "the book can be synced");
    lock.lock();
    synced_to_ = last;
    syncing_ = false;
    synced_.notify_all();
  }
  return number;
}

}  // namespace semel::proof
