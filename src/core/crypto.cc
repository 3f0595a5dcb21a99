// OpenSSL 3 by its EVP interface: thin, and keeps nothing between two calls but keys that it has read (read_key.h).
#include "core/crypto.h"

#include <array>
#include <climits>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/types.h>

#include "core/check.h"
#include "core/openssl.h"
#include "core/read_key.h"
#include "core/sha256.h"
#include <semel/key.h>

namespace semel::core {
namespace {

constexpr std::size_t gcm_tag_bytes = 16;

int size_of(std::string_view text) {
  check(text.size() <= INT_MAX - gcm_tag_bytes, "what is encrypted or signed is far smaller than 2 GiB");
  return static_cast<int>(text.size());
}

const EVP_MD* digest_of(HmacHash hash) {
  switch (hash) {
    case HmacHash::sha1:
      return EVP_sha1();
    case HmacHash::sha256:
      return EVP_sha256();
    case HmacHash::sha512:
      return EVP_sha512();
  }
  check(false, "every hash has a case");
  return nullptr;
}

// `digest` is null where the algorithm brings its own.
bool verify(EVP_PKEY* key, const EVP_MD* digest, std::string_view message, std::string_view signature) {
  const DigestContext context(EVP_MD_CTX_new());
  check(context != nullptr, "OpenSSL has memory");
  return EVP_DigestVerifyInit(context.get(), nullptr, digest, nullptr, key) == 1 &&
         EVP_DigestVerify(context.get(), bytes(signature), signature.size(), bytes(message), message.size()) == 1;
}

bool is_p256(const EVP_PKEY* key) {
  std::array<char, 32> group{};
  return EVP_PKEY_is_a(key, "EC") == 1 && EVP_PKEY_get_group_name(key, group.data(), group.size(), nullptr) == 1 &&
         std::string_view(group.data()) == "prime256v1";
}

// Starts sealing or opening, and adds the part that is authenticated but not encrypted.
CipherContext start_gcm(int sealing, const AesKey& key, const AesNonce& nonce, std::string_view context) {
  CipherContext cipher(EVP_CIPHER_CTX_new());
  int taken = 0;
  check(cipher != nullptr &&
            EVP_CipherInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(), nonce.data(), sealing) == 1 &&
            EVP_CipherUpdate(cipher.get(), nullptr, &taken, bytes(context), size_of(context)) == 1,
        "AES-256-GCM starts");
  return cipher;
}

}  // namespace

std::string hmac(HmacHash hash, std::string_view key, std::string_view message) {
  if (hash == HmacHash::sha256) {
    const Digest made = hmac_sha256(key, message);
    return {reinterpret_cast<const char*>(made.data()), made.size()};
  }
  std::string tag(EVP_MAX_MD_SIZE, '\0');
  unsigned int size = 0;
  const char no_key = '\0';  // OpenSSL reads a null key as "the one from before"
  const void* const key_bytes = key.empty() ? &no_key : key.data();
  const unsigned char* const made =
      HMAC(digest_of(hash), key_bytes, size_of(key), bytes(message), message.size(), bytes(tag), &size);
  check(made != nullptr, "OpenSSL makes an HMAC");
  tag.resize(size);
  return tag;
}

std::string sha1(std::string_view text) {
  std::string digest(20, '\0');
  check(EVP_Digest(text.data(), text.size(), bytes(digest), nullptr, EVP_sha1(), nullptr) == 1, "OpenSSL hashes");
  return digest;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool verify_ed25519(std::string_view public_key, std::string_view message, std::string_view signature) {
  const QuietRefusal quiet;
  const Pkey key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes(public_key), public_key.size()));
  return key != nullptr && verify(key.get(), nullptr, message, signature);
}

bool verify_ecdsa_p256_sha256(std::string_view public_key, std::string_view message, std::string_view signature) {
  const QuietRefusal quiet;
  EVP_PKEY* const key = read_key(public_key);
  return key != nullptr && is_p256(key) && verify(key, EVP_sha256(), message, signature);
}

std::string aes_256_gcm_seal(const AesKey& key, const AesNonce& nonce, std::string_view context,
                             std::string_view text) {
  const CipherContext cipher = start_gcm(1, key, nonce, context);
  std::string sealed(text.size() + gcm_tag_bytes, '\0');
  int written = 0;
  int rest = 0;
  check(EVP_CipherUpdate(cipher.get(), bytes(sealed), &written, bytes(text), size_of(text)) == 1 &&
            EVP_CipherFinal_ex(cipher.get(), bytes(sealed) + written, &rest) == 1 &&
            EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_GET_TAG, gcm_tag_bytes, bytes(sealed) + text.size()) == 1,
        "AES-256-GCM seals");
  return sealed;
}

std::optional<std::string> aes_256_gcm_open(const AesKey& key, const AesNonce& nonce, std::string_view context,
                                            std::string_view sealed) {
  if (sealed.size() < gcm_tag_bytes) return std::nullopt;
  const QuietRefusal quiet;
  const std::string_view encrypted = sealed.substr(0, sealed.size() - gcm_tag_bytes);
  std::string tag(sealed.substr(encrypted.size()));
  const CipherContext cipher = start_gcm(0, key, nonce, context);
  std::string text(encrypted.size(), '\0');
  int written = 0;
  int rest = 0;
  check(EVP_CipherUpdate(cipher.get(), bytes(text), &written, bytes(encrypted), size_of(encrypted)) == 1 &&
            EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_SET_TAG, gcm_tag_bytes, tag.data()) == 1,
        "AES-256-GCM reads");
  if (EVP_CipherFinal_ex(cipher.get(), bytes(text) + written, &rest) != 1) return std::nullopt;
  return text;
}

}  // namespace semel::core
