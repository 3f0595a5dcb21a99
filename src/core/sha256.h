// SHA-256 over length-prefixed parts.
//
// Every hash in Semel starts with a domain tag and states the length of each part, so two different inputs never become
// one string of bytes.
#pragma once

#include <initializer_list>
#include <string_view>

#include <semel/key.h>

namespace semel::core {

Digest sha256(std::string_view bytes);

// SHA-256 of the tag and then of the parts, each of them after its length in bytes (64 bits, big-endian).
Digest sha256_parts(std::string_view tag, std::initializer_list<std::string_view> parts);

// By way of the functions above: OpenSSL's own looks its parts up by name with each call.
Digest hmac_sha256(std::string_view key, std::string_view message);

}  // namespace semel::core
