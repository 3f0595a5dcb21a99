// The identity of a store: a secret that is made with the store and never changes. It names keys and scopes.
//
// So a reader of a disk, a backup or a table cannot test guesses of weak keys: every id and every scope in it is an
// HMAC under this secret. To lose it is to forget every key, so it is kept in the store itself, *wrapped*: encrypted by
// one of store.encryption_keys, which may be rotated without the identity changing (docs/adr/0013-encryption.md).
//
//   wrapped = version 1 · salt 24 · encrypted identity 32, tag 16
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/crypto.h"
#include "core/seal.h"
#include <semel/key.h>

namespace semel::core {

using StoreIdentity = std::array<std::uint8_t, 32>;  // random

inline constexpr std::size_t wrapped_bytes = 73;

std::string wrap(const StoreIdentity& identity, const AesKey& key, const Salt& salt);

struct Unwrapped {
  StoreIdentity identity{};
  std::size_t key = 0;  // which of the keys had wrapped it
};

// Null if it was not wrapped by any of `keys`, or is not whole.
std::optional<Unwrapped> unwrap(std::string_view wrapped, const std::vector<AesKey>& keys);

// Tells whether two identities are the same, and nothing else about them.
Digest mark_of(const StoreIdentity& identity);

// Names keys as a store with this identity does.
class KeyNames {
 public:
  explicit KeyNames(const StoreIdentity& identity);

  // The same key with another id and another scope. Namespace and home stay.
  [[nodiscard]] Key name(Key key) const;

 private:
  // HMAC-SHA-256 under one key, prepared: every call of a store needs two, and OpenSSL's own takes three times as long,
  // most of it to find the hash.
  class Mac {
   public:
    explicit Mac(const AesKey& key);
    [[nodiscard]] Digest operator()(std::string_view message) const;

   private:
    std::string inner_;  // the key as RFC 2104 pads it
    std::string outer_;
  };

  Mac ids_;  // a key for each purpose
  Mac scopes_;
};

}  // namespace semel::core
