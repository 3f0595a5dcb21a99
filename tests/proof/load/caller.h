// A client that writes down what it asked and what it heard, for the checker: tests/e2e/callers.py, in a hurry.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "load/book.h"
#include "load/line.h"

namespace semel::proof {

// What one key is meant for. Retries are the same operation; another body under the key is another one.
struct Operation {
  std::string scope;
  std::string key;
  std::string body;
  std::string target;

  auto operator<=>(const Operation&) const = default;
  [[nodiscard]] std::string_view route() const;  // the first part of the target
  [[nodiscard]] std::string json() const;
};

// What came of a call, as far as a caller goes by it.
struct Told {
  bool settled = false;  // the last word: an answer, that nobody knows, or that the key is another request's
  bool held_up = false;  // nobody was there, or the store was not: not to be asked again at once
};

class Caller {
 public:
  // `book` and `numbers`, which names requests, must outlive the caller.
  Caller(Endpoint to, Book& book, std::atomic<std::uint64_t>& numbers);

  // Sends the operation once, with more fields, each with its line end.
  Told call(const Operation& operation, std::string_view more = {});
  // Again and again until it is settled, or for so many seconds.
  void settle(const Operation& operation, double seconds);
  void hang_up() { line_.reset(); }

 private:
  [[nodiscard]] Got<Message> ask(const Operation& operation, std::string_view request, std::string_view more);

  const Endpoint to_;
  const std::string node_;
  Book& book_;
  std::atomic<std::uint64_t>& numbers_;
  std::optional<Line> line_;
};

}  // namespace semel::proof
