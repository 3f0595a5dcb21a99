// A Fingerprint tells whether two requests under one key are the same request: they are if their fingerprints are
// equal.
//
// It is SHA-256 over length-prefixed method, target and body. A JSON body is hashed in a canonical form: member order,
// white space and escapes do not matter, and numbers stay exact. If parsers may disagree on the meaning of a body
// (duplicate names, invalid UTF-8, lone surrogates, depth over 64, not JSON at all), its bytes are hashed, under
// another domain tag. So two bodies are equal only if every conforming parser would call them equal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <semel/key.h>
#include <semel/result.h>

namespace semel {

struct Fingerprint {
  Digest digest{};

  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

// How a body is hashed: byte by byte, or by its meaning as described above.
enum class BodyForm : std::uint8_t { raw, json };

// JSON Pointers (RFC 6901) of members that may differ between retries. They are left out of the hash. Parse the list
// once and use it for many requests. Any number of threads may use one list.
class IgnoreList {
 public:
  IgnoreList() = default;

  // Code::invalid: a pointer is not RFC 6901 (`a/b`, `/~2`) or not UTF-8, or is "", which would ignore the whole body.
  static Result<IgnoreList> parse(const std::vector<std::string>& pointers);

  [[nodiscard]] bool empty() const { return paths_.empty(); }
  [[nodiscard]] const std::vector<std::vector<std::string>>& paths() const { return paths_; }

 private:
  std::vector<std::vector<std::string>> paths_;  // unescaped reference tokens
};

// The parts of a request that are compared. The views must be valid during the call of fingerprint() only. A job that
// is no HTTP request leaves method and target empty.
struct Request {
  std::string_view method;
  std::string_view target;  // path and query as received, without scheme or authority
  std::string_view body;
};

// Never fails, and needs a constant amount of stack, however deep the body is. `ignore` has no effect on a body that is
// hashed byte by byte.
Fingerprint fingerprint(const Request& request, BodyForm form, const IgnoreList& ignore = {});

}  // namespace semel
