// Public keys as OpenSSL holds them, read once.
//
// To read a key of P-256 takes OpenSSL 3.0 about 140 µs, to verify a signature with it 70. The keys come from
// configurations and from the sets of issuers, never from a request, and stay the same for hours. So each thread
// remembers the last ones that it has read. Only .cc files that talk to OpenSSL include this.
#pragma once

#include <cstddef>
#include <string_view>

#include <openssl/types.h>

namespace semel::core {

constexpr std::size_t remembered_keys_max = 32;  // per thread, of 16 KiB each at most

// The key of a SubjectPublicKeyInfo in DER. Null if it is none, or if something follows it. Valid until this thread's
// next call.
EVP_PKEY* read_key(std::string_view info);

}  // namespace semel::core
