// Signatures and encryption, as one-shot functions over bytes.
//
// Everything is a value: no context outlives a call, nothing is random (a nonce comes from the caller), and input that
// is malformed in any way verifies nothing and opens nothing. A failure inside OpenSSL itself stops the process.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace semel::core {

enum class HmacHash : std::uint8_t { sha1, sha256, sha512 };

// The whole tag: 20, 32 or 64 bytes. Compare it with equal_in_constant_time().
std::string hmac(HmacHash hash, std::string_view key, std::string_view message);

// 20 bytes. Only for protocols of others that use it; nothing of ours does.
std::string sha1(std::string_view bytes);

// Takes the same time wherever two texts of one size differ, so that a tag cannot be guessed byte by byte. Sizes are
// not secret: texts of different size are told apart at once.
bool equal_in_constant_time(std::string_view a, std::string_view b);

// `public_key`: 32 bytes; `signature`: 64 bytes (RFC 8032).
bool verify_ed25519(std::string_view public_key, std::string_view message, std::string_view signature);

// `public_key`: a SubjectPublicKeyInfo in DER on the curve P-256; `signature`: an ECDSA-Sig-Value in DER.
bool verify_ecdsa_p256_sha256(std::string_view public_key, std::string_view message, std::string_view signature);

using AesKey = std::array<std::uint8_t, 32>;
using AesNonce = std::array<std::uint8_t, 12>;  // never used twice with one key

// `text` encrypted, followed by the 16 bytes of the tag. `context` is authenticated with it but is not part of the
// result: it ties the result to where it belongs.
std::string aes_256_gcm_seal(const AesKey& key, const AesNonce& nonce, std::string_view context, std::string_view text);

// The text that was sealed. Null if anything differs: key, nonce, context or a bit of `sealed`.
std::optional<std::string> aes_256_gcm_open(const AesKey& key, const AesNonce& nonce, std::string_view context,
                                            std::string_view sealed);

}  // namespace semel::core
