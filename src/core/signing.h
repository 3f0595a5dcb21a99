// Signing with a private key, to make deliveries and tokens: for `semel sign` and tests.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace semel::core {

// `private_key`: PEM, Ed25519, EC on P-256 or RSA. Ed25519 gives 64 bytes, EC an ECDSA-Sig-Value in DER over SHA-256,
// RSA PKCS#1 v1.5 over SHA-256. Null if it is not such a key.
std::optional<std::string> sign_with_private_key(std::string_view private_key, std::string_view message);

}  // namespace semel::core
