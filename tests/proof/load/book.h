// A file of records, a line each, for the checker: what a client was told, or what the origin did.
//
// The lines are JSON as tests/e2e/callers.py and tests/e2e/origin.py write it, and times are of the same clock, so one
// checker reads both. Two programs may append to one book.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace semel::proof {

// Seconds of the clock that Python calls time.monotonic().
double now_s();

// A JSON string with its quotes; bytes beyond ASCII are taken for Latin-1.
std::string quoted(std::string_view text);

// SHA-256 in hexadecimal digits.
std::string digest_of(std::string_view bytes);

class Book {
 public:
  explicit Book(const std::string& path);
  ~Book();
  Book(const Book&) = delete;
  Book& operator=(const Book&) = delete;

  // Written with the next flush(), or soon.
  void add(std::string_view line);
  void flush();
  // Adds {"seq": NUMBER, and what `rest` says, and returns the number. The line is on disk by then; those who come at
  // the same time share a sync.
  std::uint64_t number_and_sync(std::string_view rest);

 private:
  void write_out(std::string_view bytes) const;

  const int file_;
  std::mutex mutex_;
  std::condition_variable synced_;
  std::string pending_;
  std::uint64_t numbers_ = 0;
  std::uint64_t synced_to_ = 0;
  bool syncing_ = false;
};

}  // namespace semel::proof
