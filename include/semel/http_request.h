// A request as an HTTP server hands it over: views into memory of the server's own, nothing decoded, nothing copied.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace semel {

struct FieldView {
  std::string_view name;
  std::string_view value;
};

// What it points to must stay until whatever was given it has ended.
struct HttpRequest {
  std::string_view method;
  std::string_view target;            // path and query as received, without scheme or authority
  std::span<const FieldView> fields;  // one for each line, in the order in which they came
  std::string_view body;
  std::string_view ip;  // of the peer, as text; only for keys and scopes that name it
};

// Whether a request must bring a key. Without one where it is optional, the request is not guarded.
enum class KeyMode : std::uint8_t { required, optional, off };

}  // namespace semel
