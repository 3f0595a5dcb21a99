// Expected failures are values.
//
// Every operation that can fail returns Result<T>; dropping one is a compile error. Absence (no such key, nothing to
// sweep) is not an error. A broken invariant is neither: it stops the process (see src/core/check.h). No exception
// crosses a public function of this library.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

namespace semel {

// What a caller can do about a failure; `detail` says in words what happened and what to do, and never holds a key, a
// body or a secret.
enum class Code : std::uint8_t {
  invalid,      // the input is wrong; repeating the call cannot help
  fenced,       // the claim meant by this fence is over: another holder, a lapsed lease, or it has ended
  unavailable,  // the store cannot answer now, and the call may or may not have been applied
  full,         // no room (disk, quota); nothing was applied
  corrupt,      // what is stored cannot be trusted; it is neither replayed nor run again
};

struct Error {
  Code code = Code::invalid;
  std::string detail;

  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using std::expected<T, Error>::expected;
};

inline std::unexpected<Error> fail(Code code, std::string detail) {
  return std::unexpected<Error>(Error{.code = code, .detail = std::move(detail)});
}

}  // namespace semel
