// SHA-256 and what is made of it, by functions of OpenSSL that need no context on the heap.
#include "core/sha256.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string_view>

// A request is hashed three times, and what is hashed is short: through EVP, with its contexts on the heap and its
// providers, a hash costs about 800 instructions and two allocations more. OpenSSL 3 calls these functions deprecated.
// They have the same code for the rounds, and are in every build of it but those with `no-deprecated`.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "core/check.h"
#include <semel/key.h>

namespace semel::core {
namespace {

// Short pieces are gathered first, because a call into OpenSSL costs more than they do.
class Hash {
 public:
  Hash() { check(SHA256_Init(&state_) == 1, "SHA-256 starts"); }

  void add(std::string_view bytes) {
    if (bytes.size() > gathered_.size() - gathered_bytes_) flush();
    if (bytes.size() > gathered_.size()) return update(bytes);
    bytes.copy(gathered_.data() + gathered_bytes_, bytes.size());
    gathered_bytes_ += bytes.size();
  }

  void add_behind_its_length(std::string_view part) {
    std::array<char, 8> length{};
    for (std::size_t i = 0; i < length.size(); ++i) {
      length[i] = static_cast<char>(static_cast<std::uint64_t>(part.size()) >> (56U - 8U * i));
    }
    add({length.data(), length.size()});
    add(part);
  }

  Digest end() {
    flush();
    Digest digest{};
    check(SHA256_Final(digest.data(), &state_) == 1, "SHA-256 ends");
    return digest;
  }

  // For one that began with a secret.
  void wipe() { OPENSSL_cleanse(this, sizeof(*this)); }

 private:
  void flush() {
    update({gathered_.data(), gathered_bytes_});
    gathered_bytes_ = 0;
  }
  void update(std::string_view bytes) {
    check(SHA256_Update(&state_, bytes.data(), bytes.size()) == 1, "SHA-256 takes bytes");
  }

  SHA256_CTX state_;
  std::array<char, 256> gathered_;
  std::size_t gathered_bytes_ = 0;
};

}  // namespace

Digest sha256(std::string_view bytes) {
  Hash hash;
  hash.add(bytes);
  return hash.end();
}

Digest sha256_parts(std::string_view tag, std::initializer_list<std::string_view> parts) {
  Hash hash;
  hash.add_behind_its_length(tag);
  for (const std::string_view part : parts) hash.add_behind_its_length(part);
  return hash.end();
}

// RFC 2104.
Digest hmac_sha256(std::string_view key, std::string_view message) {
  constexpr char inner_pad = 0x36;
  constexpr char outer_pad = 0x5C;
  std::array<char, SHA256_CBLOCK> block{};
  if (key.size() > block.size()) {
    const Digest short_key = sha256(key);
    std::memcpy(block.data(), short_key.data(), short_key.size());
  } else {
    key.copy(block.data(), key.size());
  }
  const auto hash_behind = [&block](char pad, std::string_view bytes) {
    std::array<char, SHA256_CBLOCK> padded = block;
    for (char& c : padded) c = static_cast<char>(c ^ pad);
    Hash hash;
    hash.add({padded.data(), padded.size()});
    hash.add(bytes);
    const Digest digest = hash.end();
    hash.wipe();
    OPENSSL_cleanse(padded.data(), padded.size());
    return digest;
  };
  const Digest inner = hash_behind(inner_pad, message);
  const Digest tag = hash_behind(outer_pad, {reinterpret_cast<const char*>(inner.data()), inner.size()});
  OPENSSL_cleanse(block.data(), block.size());
  return tag;
}

}  // namespace semel::core
