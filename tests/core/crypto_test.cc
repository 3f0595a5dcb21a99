// Published vectors, and what must not verify or open.
#include "core/crypto.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <openssl/err.h>

#include "support/hex.h"

namespace semel::core {
namespace {

using test::from_hex;
using test::to_hex;

// RFC 2202 and RFC 4231, test case 2; RFC 4231 test case 6 has a key longer than a block.
TEST(Hmac, MatchesPublishedVectors) {
  const std::string_view message = "what do ya want for nothing?";
  EXPECT_EQ(to_hex(hmac(HmacHash::sha1, "Jefe", message)), "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
  EXPECT_EQ(to_hex(hmac(HmacHash::sha256, "Jefe", message)),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(
      to_hex(hmac(HmacHash::sha512, "Jefe", message)),
      "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b"
      "636e070a38bce737");
  EXPECT_EQ(to_hex(hmac(HmacHash::sha256, std::string(131, '\xaa'),
                        "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

// An empty key or message is a key or message like any other.
TEST(Hmac, TakesEmptyInput) {
  EXPECT_EQ(to_hex(hmac(HmacHash::sha256, "", "")), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
  EXPECT_EQ(hmac(HmacHash::sha256, std::string_view{}, std::string_view{}), hmac(HmacHash::sha256, "", ""));
}

// Equal is equal in size and in every byte.
TEST(EqualInConstantTime, ComparesSizeAndBytes) {
  EXPECT_TRUE(equal_in_constant_time("", ""));
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  EXPECT_FALSE(equal_in_constant_time("abc", "abd"));
  EXPECT_FALSE(equal_in_constant_time("abc", "xbc"));
  EXPECT_FALSE(equal_in_constant_time("abc", "ab"));
  EXPECT_FALSE(equal_in_constant_time("abc", ""));
}

const std::string ed25519_key = from_hex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
const std::string ed25519_signature = from_hex(
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb0"
    "0d291612"
    "bb0c00");

// RFC 8032 §7.1, test 2; then with each input changed.
TEST(Ed25519, VerifiesOnlyWhatWasSigned) {
  EXPECT_TRUE(verify_ed25519(ed25519_key, "\x72", ed25519_signature));
  EXPECT_FALSE(verify_ed25519(ed25519_key, "\x73", ed25519_signature));
  EXPECT_FALSE(verify_ed25519(ed25519_key, "", ed25519_signature));
  for (std::size_t bit = 0; bit < ed25519_signature.size() * 8; ++bit) {
    std::string flipped = ed25519_signature;
    flipped[bit / 8] = static_cast<char>(static_cast<unsigned>(flipped[bit / 8]) ^ (1U << (bit % 8)));
    EXPECT_FALSE(verify_ed25519(ed25519_key, "\x72", flipped)) << bit;
  }
}

// RFC 6979 §A.2.5, P-256 and SHA-256 over "sample"; the key in the form in which providers publish it.
const std::string p256_key = from_hex(
    "3059301306072a8648ce3d020106082a8648ce3d03010703420004"
    "60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6"
    "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299");
const std::string p256_signature = from_hex(
    "3046022100efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"
    "022100f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8");

TEST(EcdsaP256, VerifiesOnlyWhatWasSigned) {
  EXPECT_TRUE(verify_ecdsa_p256_sha256(p256_key, "sample", p256_signature));
  EXPECT_FALSE(verify_ecdsa_p256_sha256(p256_key, "Sample", p256_signature));
  for (std::size_t bit = 0; bit < p256_signature.size() * 8; ++bit) {
    std::string flipped = p256_signature;
    flipped[bit / 8] = static_cast<char>(static_cast<unsigned>(flipped[bit / 8]) ^ (1U << (bit % 8)));
    EXPECT_FALSE(verify_ecdsa_p256_sha256(p256_key, "sample", flipped)) << bit;
  }
}

// A signature that holds on another curve is not one of ours: P-384 here, made for this test.
TEST(EcdsaP256, RefusesKeysOfOtherCurves) {
  const std::string key = from_hex(
      "3076301006072a8648ce3d020106052b81040022036200045de3519e30fffd92aa8e8c77873ff0ae60d69dc32fc25032"
      "8875a7f577f7782eec1fb394f2040057bd69589cef287260dbe054673855c5bbb01f357a651c6a5ea14d8560bdaa3ebc"
      "dd6567250a71e821b7c155f9d74ebad70cdc02494973f1d0");
  const std::string signature = from_hex(
      "306502306cb3827491f179ca29295b8ae85d4bef55c5a55ac1e3799821c6ed3120631cb249584618a7b5fc25f5fb1a00"
      "ed8ffb20023100ba87a3acc03f455de44072384b602ff373cfb4b8d45939f92c8ed93f91f65fb3dcea782a0abb0a91c7"
      "4ba3dae6fb4243");
  EXPECT_FALSE(verify_ecdsa_p256_sha256(key, "sample", signature));
}

// Malformed keys and signatures verify nothing, and leave no OpenSSL errors behind for the next TLS call to find.
TEST(Signatures, AreRefusedQuietlyWhenMalformed) {
  ERR_clear_error();
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{31}, std::size_t{33}, std::size_t{63}}) {
    EXPECT_FALSE(verify_ed25519(std::string(size, '\1'), "m", ed25519_signature));
    EXPECT_FALSE(verify_ed25519(ed25519_key, "\x72", ed25519_signature.substr(0, size)));
    EXPECT_FALSE(verify_ecdsa_p256_sha256(p256_key.substr(0, size), "sample", p256_signature));
    EXPECT_FALSE(verify_ecdsa_p256_sha256(p256_key, "sample", p256_signature.substr(0, size)));
  }
  EXPECT_FALSE(verify_ecdsa_p256_sha256(p256_key + "x", "sample", p256_signature));
  EXPECT_FALSE(verify_ecdsa_p256_sha256(p256_key, "sample", p256_signature + "x"));
  // An Ed25519 key in the same wrapping is not a P-256 key.
  EXPECT_FALSE(verify_ecdsa_p256_sha256(from_hex("302a300506032b6570032100") + ed25519_key, "sample", p256_signature));
  EXPECT_EQ(ERR_peek_error(), 0U);
}

// McGrew and Viega, "The Galois/Counter Mode of Operation", test cases 13 and 14.
TEST(AesGcm, MatchesPublishedVectors) {
  EXPECT_EQ(to_hex(aes_256_gcm_seal({}, {}, "", "")), "530f8afbc74536b9a963b4f1c4cb738b");
  EXPECT_EQ(to_hex(aes_256_gcm_seal({}, {}, "", std::string(16, '\0'))),
            "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919");
}

// Opening gives back what was sealed, and nothing if a bit of anything differs.
TEST(AesGcm, OpensOnlyWhatWasSealed) {
  AesKey key{1, 2, 3};
  AesNonce nonce{4, 5, 6};
  const std::string text = "the body of a response, longer than one block";
  const std::string sealed = aes_256_gcm_seal(key, nonce, "record 1", text);
  EXPECT_EQ(sealed.size(), text.size() + 16);
  EXPECT_FALSE(sealed.contains("response"));
  EXPECT_EQ(aes_256_gcm_open(key, nonce, "record 1", sealed), text);
  EXPECT_EQ(aes_256_gcm_open(key, nonce, "record 2", sealed), std::nullopt);
  for (std::size_t bit = 0; bit < sealed.size() * 8; ++bit) {
    std::string flipped = sealed;
    flipped[bit / 8] = static_cast<char>(static_cast<unsigned>(flipped[bit / 8]) ^ (1U << (bit % 8)));
    EXPECT_EQ(aes_256_gcm_open(key, nonce, "record 1", flipped), std::nullopt) << bit;
  }
  for (std::size_t size = 0; size < sealed.size(); ++size) {
    EXPECT_EQ(aes_256_gcm_open(key, nonce, "record 1", sealed.substr(0, size)), std::nullopt) << size;
  }
  key[31] ^= 1;
  EXPECT_EQ(aes_256_gcm_open(key, nonce, "record 1", sealed), std::nullopt);
  key[31] ^= 1;
  nonce[11] ^= 1;
  EXPECT_EQ(aes_256_gcm_open(key, nonce, "record 1", sealed), std::nullopt);
  EXPECT_EQ(aes_256_gcm_open(key, {}, "", aes_256_gcm_seal(key, {}, "", "")), "");
}

}  // namespace
}  // namespace semel::core
