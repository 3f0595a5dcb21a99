// The answer of an action, in the form in which it is kept and replayed.
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

// If `body_kept` is false, the body was too large to keep and is empty here (a tombstone). The record still blocks a
// second run, and a replay says that the body is gone.
//
// Header fields are kept in their order; a name may occur more than once. Framing fields (Content-Length,
// Transfer-Encoding) do not belong here: the server writes them.
struct Response {
  std::uint16_t status = 200;
  std::vector<Field> fields;
  std::string body;
  bool body_kept = true;

  friend bool operator==(const Response&, const Response&) = default;
};

// Never changes once it is made, so a store, a cache and several connections on several threads may share one.
using SharedResponse = std::shared_ptr<const Response>;

}  // namespace semel
