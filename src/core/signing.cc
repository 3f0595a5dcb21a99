#include "core/signing.h"

#include <climits>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/types.h>

#include "core/check.h"

namespace semel {
namespace {

template <auto free>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};
using PrivateKey = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;
using Memory = std::unique_ptr<BIO, Freed<BIO_free_all>>;

// A key that is locked by a pass phrase is no key to us: nobody is asked for one.
int no_phrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*context*/) {
  return 0;
}

PrivateKey read_key(std::string_view text) {
  if (text.size() > INT_MAX) return nullptr;
  const Memory memory(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  check(memory != nullptr, "OpenSSL has memory");
  return PrivateKey(PEM_read_bio_PrivateKey(memory.get(), nullptr, no_phrase, nullptr));
}

}  // namespace

std::optional<std::string> sign_with_private_key(std::string_view private_key, std::string_view message) {
  ERR_set_mark();
  const PrivateKey key = read_key(private_key);
  ERR_pop_to_mark();
  if (key == nullptr) return std::nullopt;
  const bool own_digest = EVP_PKEY_is_a(key.get(), "ED25519") == 1;
  if (!own_digest && EVP_PKEY_is_a(key.get(), "EC") != 1 && EVP_PKEY_is_a(key.get(), "RSA") != 1) return std::nullopt;
  const DigestContext context(EVP_MD_CTX_new());
  check(context != nullptr, "OpenSSL has memory");
  const EVP_MD* const digest = own_digest ? nullptr : EVP_sha256();
  const auto* const bytes = reinterpret_cast<const unsigned char*>(message.data());
  std::size_t size = 0;
  check(EVP_DigestSignInit(context.get(), nullptr, digest, nullptr, key.get()) == 1 &&
            EVP_DigestSign(context.get(), nullptr, &size, bytes, message.size()) == 1,
        "OpenSSL signs");
  std::string signature(size, '\0');
  check(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, bytes,
                       message.size()) == 1,
        "OpenSSL signs");
  signature.resize(size);
  return signature;
}

}  // namespace semel
