#include "core/signing.h"

#include <climits>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/types.h>

#include "core/check.h"
#include "core/openssl.h"

namespace semel::core {
namespace {

// A key with a pass phrase is refused: nobody is asked for the phrase.
int no_phrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*context*/) {
  return 0;
}

Pkey read_key(std::string_view text) {
  if (text.size() > INT_MAX) return nullptr;
  const Memory memory(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  check(memory != nullptr, "OpenSSL has memory");
  return Pkey(PEM_read_bio_PrivateKey(memory.get(), nullptr, no_phrase, nullptr));
}

}  // namespace

std::optional<std::string> sign_with_private_key(std::string_view private_key, std::string_view message) {
  const QuietRefusal quiet;
  const Pkey key = read_key(private_key);
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

}  // namespace semel::core
