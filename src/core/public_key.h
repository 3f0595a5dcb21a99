// Signatures by keys that are fetched: certificates (PEM) and JSON web keys.
//
// As in crypto.h, everything is a value, and malformed input verifies nothing.
#pragma once

#include <cstdint>
#include <string_view>

#include <semel/clock.h>

namespace semel::core {

enum class RsaHash : std::uint8_t { sha1, sha256 };

// PKCS#1 v1.5 by the RSA key of an X.509 certificate that is valid at `now`. Its issuer is not checked: it was fetched
// from an address that only its owner can write to.
bool verify_by_certificate(std::string_view pem, Time now, RsaHash hash, std::string_view message,
                           std::string_view signature);

// RS256 of RFC 7518, by a key of at least 2048 bits; `modulus` and `exponent` are big-endian.
bool verify_rs256(std::string_view modulus, std::string_view exponent, std::string_view message,
                  std::string_view signature);

// ES256 of RFC 7518: coordinates of 32 bytes each, and a signature of 64 bytes.
bool verify_es256(std::string_view x, std::string_view y, std::string_view message, std::string_view signature);

// Of ISO 3309, as zip and PNG use it.
std::uint32_t crc32(std::string_view bytes);

}  // namespace semel::core
