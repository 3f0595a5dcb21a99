// A Key names one logical operation: (namespace, scope, the client's text).
//
// The scope says who is asking (a tenant, a bearer token). It is part of the identity, so no tenant can reach another's
// record. A Key holds neither the scope nor the text, only hashes of them. The hashes are made with a domain tag and
// length-prefixed parts, so two different triples never make the same key because of where one part ends and the next
// begins.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <semel/result.h>

namespace semel {

using Digest = std::array<std::uint8_t, 32>;       // SHA-256
using ScopeDigest = std::array<std::uint8_t, 16>;  // the first half of a SHA-256: enough to group by

// A plain value; make one with make_key().
struct Key {
  Digest id{};          // the identity: equal ids are equal keys
  ScopeDigest scope{};  // the same for every key of one scope; for quotas and for operators
  std::string space;    // the namespace, in clear
  // Where a store of several databases keeps the record: together with all others that have the same home. It is not
  // part of the identity, but must be the same in every call for one key. 0 if the id decides.
  std::uint64_t home = 0;

  friend bool operator==(const Key& a, const Key& b) { return a.id == b.id; }
};

inline constexpr std::size_t key_text_bytes_max = 255;
inline constexpr std::size_t space_bytes_max = 64;

// Returns the text of an Idempotency-Key field. Pass every line of that field in the message. A structured-field string
// (`"abc"`, RFC 8941 §3.3.3) and a bare token (`abc`) are the same key.
// Code::invalid: no line or several, empty, over 255 bytes once decoded, control or non-ASCII bytes, a list (`a, b`),
// or parameters after the string (`"abc";a=1`).
Result<std::string> parse_key_text(std::span<const std::string_view> lines);

// Makes a Key of the parts. `scope` may be empty if there is only one tenant.
// Code::invalid: the namespace is empty or over 64 bytes, or the text is empty or over 255 bytes.
Result<Key> make_key(std::string_view space, std::string_view scope, std::string_view text);

}  // namespace semel

template <>
struct std::hash<semel::Key> {
  std::size_t operator()(const semel::Key& key) const noexcept {
    std::size_t first = 0;  // the id is a cryptographic hash already: any eight bytes of it will do
    for (std::size_t i = 0; i < sizeof(first); ++i) first = (first << 8U) | key.id[i];
    return first;
  }
};
