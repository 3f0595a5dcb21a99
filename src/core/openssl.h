// OpenSSL's objects, each freed with its holder. And a guard that removes the errors that OpenSSL leaves behind.
//
// Only .cc files that talk to OpenSSL include this; the headers of this folder name none of its types.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/types.h>
#include <openssl/x509.h>

namespace semel::core {

template <auto free>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};
using Pkey = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;  // public or private
using DigestContext = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, Freed<EVP_CIPHER_CTX_free>>;
using Memory = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;

// OpenSSL leaves a list of errors in the thread, where the next TLS call would find them. A refusal is not an error.
class QuietRefusal {
 public:
  QuietRefusal() { ERR_set_mark(); }
  ~QuietRefusal() { ERR_pop_to_mark(); }
  QuietRefusal(const QuietRefusal&) = delete;
  QuietRefusal& operator=(const QuietRefusal&) = delete;
};

inline const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
inline unsigned char* bytes(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

}  // namespace semel::core
