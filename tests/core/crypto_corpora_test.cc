// Every Wycheproof case through the functions that Semel calls: what is valid passes, what is invalid fails.
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "core/crypto.h"
#include "corpora.h"
#include "support/hex.h"

namespace semel::core {
namespace {

using boost::json::value;
using test::from_hex;
using test::has_corpus;
using test::text_at;

std::string bytes_at(const value& object, std::string_view name) {
  return from_hex(text_at(object, name));
}

// Nothing: the case is about something that Semel does not offer.
using Verdict = std::optional<bool>;

struct Counts {
  int run = 0;
  int not_applicable = 0;
};

Counts run_all(std::string_view file, const std::function<Verdict(const value& group, const value& test)>& judge) {
  Counts counts;
  const value suite = test::corpus_json(file);
  for (const value& group : suite.at("testGroups").as_array()) {
    for (const value& test : group.at("tests").as_array()) {
      const Verdict verdict = judge(group, test);
      if (!verdict) {
        ++counts.not_applicable;
        continue;
      }
      ++counts.run;
      const std::string result = text_at(test, "result");
      if (result == "acceptable") continue;
      EXPECT_EQ(*verdict, result == "valid") << file << " " << test.at("tcId") << " " << text_at(test, "comment");
    }
  }
  EXPECT_EQ(counts.run + counts.not_applicable, suite.at("numberOfTests").as_int64());
  std::cout << file << ": " << counts.run << " cases";
  if (counts.not_applicable > 0) std::cout << ", " << counts.not_applicable << " of other sizes not applicable";
  std::cout << "\n";
  return counts;
}

Counts run_hmac(std::string_view file, HmacHash hash) {
  return run_all(file, [hash](const value& group, const value& test) -> Verdict {
    // A group may ask for a truncated tag; Semel compares whole ones, so it is cut here, to what the group says.
    const std::string whole = hmac(hash, bytes_at(test, "key"), bytes_at(test, "msg"));
    const auto size = static_cast<std::size_t>(group.at("tagSize").as_int64() / 8);
    return equal_in_constant_time(whole.substr(0, size), bytes_at(test, "tag"));
  });
}

// Webhook signatures of most providers.
TEST(Wycheproof, HoldsForHmac) {
  if (!has_corpus("wycheproof")) return;
  EXPECT_EQ(run_hmac("wycheproof/hmac_sha1_test.json", HmacHash::sha1).run, 170);
  EXPECT_EQ(run_hmac("wycheproof/hmac_sha256_test.json", HmacHash::sha256).run, 174);
  EXPECT_EQ(run_hmac("wycheproof/hmac_sha512_test.json", HmacHash::sha512).run, 174);
}

// Signatures that could be forged from a valid one, keys that are not what they seem.
TEST(Wycheproof, HoldsForPublicKeys) {
  if (!has_corpus("wycheproof")) return;
  const Counts ed25519 = run_all("wycheproof/ed25519_test.json", [](const value& group, const value& test) -> Verdict {
    const std::string key = bytes_at(group.at("publicKey"), "pk");
    return verify_ed25519(key, bytes_at(test, "msg"), bytes_at(test, "sig"));
  });
  EXPECT_EQ(ed25519.run, 151);
  const Counts ecdsa =
      run_all("wycheproof/ecdsa_secp256r1_sha256_test.json", [](const value& group, const value& test) -> Verdict {
        return verify_ecdsa_p256_sha256(bytes_at(group, "publicKeyDer"), bytes_at(test, "msg"), bytes_at(test, "sig"));
      });
  EXPECT_EQ(ecdsa.run, 484);
}

// Of AES-GCM Semel uses one size: 256 bits of key, 96 of nonce, 128 of tag. Valid cases are sealed as well as opened.
TEST(Wycheproof, HoldsForAesGcm) {
  if (!has_corpus("wycheproof")) return;
  const Counts counts = run_all("wycheproof/aes_gcm_test.json", [](const value& group, const value& test) -> Verdict {
    const auto bits = [&](std::string_view name) { return group.at(name).as_int64(); };
    if (bits("keySize") != 256 || bits("ivSize") != 96 || bits("tagSize") != 128) return std::nullopt;
    AesKey key{};
    AesNonce nonce{};
    bytes_at(test, "key").copy(reinterpret_cast<char*>(key.data()), key.size());
    bytes_at(test, "iv").copy(reinterpret_cast<char*>(nonce.data()), nonce.size());
    const std::string context = bytes_at(test, "aad");
    const std::string text = bytes_at(test, "msg");
    const std::string sealed = bytes_at(test, "ct") + bytes_at(test, "tag");
    if (text_at(test, "result") == "valid") EXPECT_EQ(aes_256_gcm_seal(key, nonce, context, text), sealed);
    return aes_256_gcm_open(key, nonce, context, sealed) == text;
  });
  EXPECT_EQ(counts.run, 66);
}

}  // namespace
}  // namespace semel::core
