// What is wrong with a piece of text, and where in it.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <utility>

namespace semel::reading {

struct Fault {
  std::string message;
  std::string suggestion;  // what was probably meant, to be written in its place; may be empty
  std::size_t offset = 0;  // of the first byte that is wrong
};

template <class T>
using Parsed = std::expected<T, Fault>;

inline std::unexpected<Fault> fault(std::string message, std::string suggestion = {}, std::size_t offset = 0) {
  return std::unexpected<Fault>(
      Fault{.message = std::move(message), .suggestion = std::move(suggestion), .offset = offset});
}

}  // namespace semel::reading
