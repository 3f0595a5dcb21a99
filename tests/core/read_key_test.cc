// A key that is remembered is the key that was read.

#include "core/read_key.h"

#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/types.h>
#include <openssl/x509.h>

#include "core/openssl.h"

namespace semel::core {
namespace {

std::string written(EVP_PKEY* key) {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key, &der);
  std::string info(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return info;
}

std::string new_key() {
  const Pkey key(EVP_EC_gen("P-256"));
  return written(key.get());
}

TEST(ReadKeys, AreTheOnesThatWereAskedFor) {
  std::vector<std::string> keys;
  keys.reserve(3 * remembered_keys_max);
  for (std::size_t i = 0; i < 3 * remembered_keys_max; ++i) keys.push_back(new_key());
  for (const std::size_t step : {1U, 7U, 31U}) {
    for (std::size_t i = 0; i < 4 * keys.size(); ++i) {
      const std::string& info = keys[i * step % keys.size()];
      EVP_PKEY* const key = read_key(info);
      ASSERT_NE(key, nullptr);
      ASSERT_EQ(written(key), info);
    }
  }
}

TEST(ReadKeys, AreNotReadAgain) {
  const std::string info = new_key();
  EVP_PKEY* const first = read_key(info);
  EXPECT_EQ(read_key(info), first);
  EXPECT_EQ(read_key(std::string(info)), first);
}

TEST(ReadKeys, MustBeWhole) {
  const std::string info = new_key();
  ASSERT_NE(read_key(info), nullptr);
  EXPECT_EQ(read_key(info + '\0'), nullptr);
  EXPECT_EQ(read_key(info.substr(0, info.size() - 1)), nullptr);
  EXPECT_EQ(read_key(""), nullptr);
}

}  // namespace
}  // namespace semel::core
