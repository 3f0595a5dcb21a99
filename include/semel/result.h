// Expected failures are values.
//
// Every operation that can fail returns Result<T>, which holds a T or an Error. It is std::expected; ignoring one is a
// compiler warning, in this project an error. Absence (no such key, nothing to sweep) is not an error. A broken
// invariant is not an error either: it stops the process with a message. No exception leaves a public function of this
// library, unless its comment says so.
//
//   const semel::Result<semel::Key> key = semel::make_key("payments", customer, id);
//   if (!key) return complain(key.error().detail);
#pragma once

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
#error "Semel needs GCC 13 or newer, or clang 16 or newer: older GCCs free what a coroutine's lambda captures twice."
#endif
#if __cplusplus < 202100L
#error "Semel is written in C++23: compile with -std=c++23."
#endif

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

namespace semel {

// The kind of a failure, by what a caller can do about it.
enum class Code : std::uint8_t {
  invalid,      // the input is wrong; repeating the call does not help
  fenced,       // the claim of this fence is over: it has ended, its lease ran out, or another has the key
  unavailable,  // the store cannot answer now, and the call may or may not have been applied
  full,         // no room (disk, quota); nothing was applied
  corrupt,      // the stored record cannot be trusted; it is neither replayed nor run again
};

// `detail` says in words what happened and what to do. It never holds a key, a body or a secret.
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

// Makes an Error to return: `return fail(Code::invalid, "…");`
inline std::unexpected<Error> fail(Code code, std::string detail) {
  return std::unexpected<Error>(Error{.code = code, .detail = std::move(detail)});
}

}  // namespace semel
