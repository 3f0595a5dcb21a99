// Keys are put into the DER form that OpenSSL reads (SubjectPublicKeyInfo), so there is one way in for all of them.
#include "core/public_key.h"

#include <array>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/types.h>
#include <openssl/x509.h>

#include "core/check.h"
#include "core/crypto.h"
#include "core/openssl.h"
#include "core/read_key.h"
#include <semel/clock.h>

namespace semel::core {
namespace {

constexpr int rsa_bits_min = 2048;
constexpr std::size_t key_bytes_max = 16'384;
constexpr std::size_t coordinate_bytes = 32;

bool verify_rsa(EVP_PKEY* key, const EVP_MD* digest, std::string_view message, std::string_view signature) {
  if (EVP_PKEY_is_a(key, "RSA") != 1 || EVP_PKEY_get_bits(key) < rsa_bits_min) return false;
  const DigestContext context(EVP_MD_CTX_new());
  check(context != nullptr, "OpenSSL has memory");
  return EVP_DigestVerifyInit(context.get(), nullptr, digest, nullptr, key) == 1 &&
         EVP_DigestVerify(context.get(), bytes(signature), signature.size(), bytes(message), message.size()) == 1;
}

// One element of DER: tag, length, content.
std::string der(unsigned char tag, std::string_view content) {
  std::string out(1, static_cast<char>(tag));
  if (content.size() < 0x80) {
    out.push_back(static_cast<char>(content.size()));
  } else {
    out.push_back(static_cast<char>(0x82));
    out.push_back(static_cast<char>(content.size() >> 8U));
    out.push_back(static_cast<char>(content.size() & 0xffU));
  }
  return out.append(content);
}

std::string der_number(std::string_view big_endian) {
  while (big_endian.size() > 1 && big_endian.front() == '\0') big_endian.remove_prefix(1);
  std::string content(big_endian);
  if (!content.empty() && (static_cast<unsigned char>(content.front()) & 0x80U) != 0) content.insert(0, 1, '\0');
  return der(0x02, content);
}

constexpr std::string_view rsa_algorithm("\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00", 15);
constexpr std::string_view p256_head(
    "\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00\x04", 27);

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1U) ^ ((rest & 1U) != 0 ? 0xedb88320U : 0U);
    table[byte] = rest;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> crc_table = make_crc_table();

bool is_valid_at(const X509* certificate, Time now) {
  std::time_t seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  return X509_cmp_time(X509_get0_notBefore(certificate), &seconds) < 0 &&
         X509_cmp_time(X509_get0_notAfter(certificate), &seconds) > 0;
}

}  // namespace

bool verify_by_certificate(std::string_view pem, Time now, RsaHash hash, std::string_view message,
                           std::string_view signature) {
  const QuietRefusal quiet;
  if (pem.size() > INT_MAX) return false;
  const Memory memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  check(memory != nullptr, "OpenSSL has memory");
  const Certificate certificate(PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr));
  if (certificate == nullptr || !is_valid_at(certificate.get(), now)) return false;
  EVP_PKEY* const key = X509_get0_pubkey(certificate.get());
  const EVP_MD* const digest = hash == RsaHash::sha1 ? EVP_sha1() : EVP_sha256();
  return key != nullptr && verify_rsa(key, digest, message, signature);
}

bool verify_rs256(std::string_view modulus, std::string_view exponent, std::string_view message,
                  std::string_view signature) {
  const QuietRefusal quiet;
  if (modulus.empty() || exponent.empty() || modulus.size() + exponent.size() > key_bytes_max) return false;
  const std::string numbers = der(0x30, der_number(modulus) + der_number(exponent));
  const std::string info = der(0x30, std::string(rsa_algorithm) + der(0x03, std::string(1, '\0') + numbers));
  EVP_PKEY* const key = read_key(info);
  return key != nullptr && verify_rsa(key, EVP_sha256(), message, signature);
}

bool verify_es256(std::string_view x, std::string_view y, std::string_view message, std::string_view signature) {
  if (x.size() != coordinate_bytes || y.size() != coordinate_bytes || signature.size() != 2 * coordinate_bytes) {
    return false;
  }
  const std::string info = std::string(p256_head).append(x).append(y);
  const std::string numbers =
      der(0x30, der_number(signature.substr(0, coordinate_bytes)) + der_number(signature.substr(coordinate_bytes)));
  return verify_ecdsa_p256_sha256(info, message, numbers);
}

std::uint32_t crc32(std::string_view text) {
  std::uint32_t rest = 0xffffffffU;
  for (const char c : text) {
    const std::uint32_t at = (rest ^ static_cast<unsigned char>(c)) & 0xffU;
    rest = (rest >> 8U) ^ crc_table[at];  // NOLINT(cppcoreguidelines-pro-bounds-constant-array-index)
  }
  return ~rest;
}

}  // namespace semel::core
