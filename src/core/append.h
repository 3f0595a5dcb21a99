// Appends several parts to a string: room is made once, and each text is copied as a whole.
//
// Beside it, one append() after the other makes room each time, and std::ranges::copy goes byte by byte in
// libstdc++ 12.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace semel::core {

template <class Part>
concept TextOrChar = std::same_as<Part, std::string_view> || std::same_as<Part, char>;

// None of the texts may be a part of `out`.
void append_all(std::string& out, TextOrChar auto... parts) {
  const auto size_of = []<class Part>(Part part) -> std::size_t {
    if constexpr (std::same_as<Part, char>) {
      return 1;
    } else {
      return part.size();
    }
  };
  const auto put = []<class Part>(char*& to, Part part) {
    if constexpr (std::same_as<Part, char>) {
      *to++ = part;
    } else {
      to += part.copy(to, part.size());
    }
  };
  const std::size_t at = out.size();
  const std::size_t size = (at + ... + size_of(parts));
  out.resize_and_overwrite(size, [&](char* bytes, std::size_t /*size*/) {
    char* to = bytes + at;
    (put(to, parts), ...);
    return size;
  });
}

}  // namespace semel::core
