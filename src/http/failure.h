// How a connection can fail. The caller decides what a failure means for a key.
#pragma once

#include <cstdint>
#include <expected>

#include <semel/async.h>

namespace semel::http {

enum class Failure : std::uint8_t {
  closed,       // the peer closed the connection, in good order
  broken,       // the connection was reset, or we ended it
  timed_out,    // it took too long
  malformed,    // the peer sent something that is not HTTP/1.1 as we accept it
  too_large,    // over a limit of ours
  long_target,  // the target of a request is over its limit
  unreachable,  // no connection could be made
};

template <class T>
class [[nodiscard]] Try : public std::expected<T, Failure> {
 public:
  using std::expected<T, Failure>::expected;
};

template <class T>
using Attempted = Task<Try<T>>;

inline std::unexpected<Failure> failed(Failure failure) {
  return std::unexpected<Failure>(failure);
}

}  // namespace semel::http
