// A Fingerprint tells whether two requests under one key are the same request.
//
// SHA-256 over length-prefixed method, target and body. A JSON body is hashed in a canonical form in which member
// order, white space and escapes do not matter and numbers stay exact; a body on whose meaning parsers disagree
// (duplicate names, invalid UTF-8, lone surrogates, depth over 64, not JSON at all) is hashed as it stands, under
// another domain tag. Two bodies are called equal only if every conforming parser would call them equal.
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

enum class BodyForm : std::uint8_t { raw, json };

// JSON Pointers (RFC 6901) of members that may differ between retries; they are removed before hashing.
// Parsed once, when a route is configured.
class IgnoreList {
 public:
  IgnoreList() = default;

  // Code::invalid: a pointer that is not RFC 6901 (`a/b`, `/~2`), or "", which would ignore the whole body.
  static Result<IgnoreList> parse(const std::vector<std::string>& pointers);

  [[nodiscard]] bool empty() const { return paths_.empty(); }
  [[nodiscard]] const std::vector<std::vector<std::string>>& paths() const { return paths_; }

 private:
  std::vector<std::vector<std::string>> paths_;  // unescaped reference tokens
};

struct Request {
  std::string_view method;
  std::string_view target;  // path and query as received, without scheme or authority
  std::string_view body;
};

Fingerprint fingerprint(const Request& request, BodyForm form, const IgnoreList& ignore = {});

}  // namespace semel
