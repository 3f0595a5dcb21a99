// What an action answered, in the form in which it is kept and replayed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace semel {

struct Field {
  std::string name;
  std::string value;

  friend bool operator==(const Field&, const Field&) = default;
};

// A tombstone (`body_kept` false) is a response whose body was too large to keep: it blocks a second run, and a replay
// says that the body is gone.
struct Response {
  std::uint16_t status = 200;
  std::vector<Field> fields;
  std::string body;
  bool body_kept = true;

  friend bool operator==(const Response&, const Response&) = default;
};

// Immutable once made, so that a store, a cache and several sockets may share one.
using SharedResponse = std::shared_ptr<const Response>;

}  // namespace semel
