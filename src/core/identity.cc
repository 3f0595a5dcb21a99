// Everything that is hashed or encrypted here has a tag of its own, so that no text of one kind passes for another.
#include "core/identity.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/check.h"
#include "core/crypto.h"
#include "core/seal.h"
#include "core/sha256.h"
#include <semel/key.h>

namespace semel::core {
namespace {

constexpr char version = 1;
constexpr std::size_t salt_at = 1;
constexpr std::size_t sealed_at = salt_at + sizeof(Salt);
constexpr std::size_t half = sizeof(Salt) / 2;
constexpr std::size_t tag_bytes = 16;
constexpr std::size_t block_bytes = 64;  // of SHA-256
static_assert(half == sizeof(AesNonce));
static_assert(sealed_at + sizeof(StoreIdentity) + tag_bytes == wrapped_bytes);

template <class Bytes>
std::string_view view(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

AesKey derived(std::string_view secret, std::string_view purpose, std::string_view salt) {
  const std::string made = hmac(HmacHash::sha256, secret, std::string(purpose).append(salt));
  AesKey key{};
  check(made.size() == key.size(), "SHA-256 makes a key of 256 bits");
  std::ranges::copy(made, key.begin());
  return key;
}

// Salts are random: a key made from one is never used for another text.
AesKey wrapping_key(const AesKey& key, std::string_view salt) {
  return derived(view(key), "semel identity wrap v1", salt.substr(0, half));
}

AesNonce nonce_of(std::string_view salt) {
  AesNonce nonce{};
  std::ranges::copy(salt.substr(half), nonce.begin());
  return nonce;
}

// It is bound to nothing else: a store whose records are named by another identity is recognised by its mark.
std::string context_of(std::string_view head) {
  return std::string("semel store identity v1").append(head);
}

}  // namespace

std::string wrap(const StoreIdentity& identity, const AesKey& key, const Salt& salt) {
  std::string wrapped{version};
  wrapped.append(view(salt));
  wrapped += aes_256_gcm_seal(wrapping_key(key, view(salt)), nonce_of(view(salt)), context_of(wrapped), view(identity));
  return wrapped;
}

std::optional<Unwrapped> unwrap(std::string_view wrapped, const std::vector<AesKey>& keys) {
  if (wrapped.size() != wrapped_bytes || wrapped.front() != version) return std::nullopt;
  const std::string_view salt = wrapped.substr(salt_at, sizeof(Salt));
  const std::string context = context_of(wrapped.substr(0, sealed_at));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::optional<std::string> text =
        aes_256_gcm_open(wrapping_key(keys[i], salt), nonce_of(salt), context, wrapped.substr(sealed_at));
    if (!text) continue;
    Unwrapped found{.identity = {}, .key = i};
    check(text->size() == found.identity.size(), "what was wrapped is an identity");
    std::ranges::copy(*text, found.identity.begin());
    return found;
  }
  return std::nullopt;
}

Digest mark_of(const StoreIdentity& identity) {
  return sha256_parts("semel identity mark v1", {view(identity)});
}

KeyNames::KeyNames(const StoreIdentity& identity)
    : ids_(derived(view(identity), "semel key names v1", "")),
      scopes_(derived(view(identity), "semel scope names v1", "")) {}

Key KeyNames::name(Key key) const {
  key.id = ids_(view(key.id));
  const Digest scope = scopes_(view(key.scope));
  std::copy_n(scope.begin(), key.scope.size(), key.scope.begin());
  return key;
}

KeyNames::Mac::Mac(const AesKey& key) : inner_(block_bytes, '\x36'), outer_(block_bytes, '\x5c') {
  for (std::size_t i = 0; i < key.size(); ++i) {
    inner_[i] = static_cast<char>(inner_[i] ^ key[i]);
    outer_[i] = static_cast<char>(outer_[i] ^ key[i]);
  }
}

Digest KeyNames::Mac::operator()(std::string_view message) const {
  std::string text;
  text.reserve(block_bytes + sizeof(Digest));
  const Digest within = sha256(text.append(inner_).append(message));
  text.clear();
  return sha256(text.append(outer_).append(view(within)));
}

}  // namespace semel::core
