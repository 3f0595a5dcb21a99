// Responses at rest, encrypted: AES-256-GCM, bound to the claim that they answer (docs/adr/0013-encryption.md).
//
// A sealed response is a Response too, so that every store keeps it as it keeps any other: its status is 0, which no
// answer has, and its body is
//
//   version 1 · bound 1 · key id 4 · salt 24 · encrypted response, tag 16
//
// The key of a record comes from the first half of its salt, the nonce is the second half: with 192 random bits a key
// never has to be replaced because of the number of records.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/crypto.h"
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::core {

using Salt = std::array<std::uint8_t, 24>;  // random, and never used twice

// What a response belongs to. It opens nowhere else. Without a fingerprint it is bound to the claim only.
struct Belonging {
  Digest id{};
  Fence fence;
  std::optional<Fingerprint> fingerprint;
};

bool is_sealed(const Response& response);

class Seals {
 public:
  // The first key seals, all of them open. There must be one.
  explicit Seals(const std::vector<AesKey>& keys);

  [[nodiscard]] Response seal(const Response& response, const Belonging& of, const Salt& salt) const;

  // Code::corrupt: it is not whole, belongs to something else, or no key of ours fits.
  [[nodiscard]] Result<SharedResponse> open(const Response& sealed, const Belonging& of) const;

 private:
  struct Named {
    std::string id;
    AesKey key;
  };
  std::vector<Named> keys_;
};

}  // namespace semel::core
