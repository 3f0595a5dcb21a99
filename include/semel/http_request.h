// A request, as an HTTP server hands it over: views into the server's own memory. Nothing is decoded or copied.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace semel {

struct FieldView {
  std::string_view name;
  std::string_view value;
};

// The memory that it points to must stay valid until the call that it was given to has ended.
struct HttpRequest {
  std::string_view method;
  std::string_view target;            // path and query as received, without scheme or authority
  std::span<const FieldView> fields;  // one for each line, in the order in which they arrived
  std::string_view body;
  std::string_view ip;  // of the peer, as text; may be empty unless a key or scope uses {ip}
};

// Whether a request must have a key. `required`: one without is refused. `optional`: one without is not guarded. `off`:
// none is guarded.
enum class KeyMode : std::uint8_t { required, optional, off };

}  // namespace semel
