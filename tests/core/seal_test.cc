// A sealed response opens where it belongs and nowhere else.
#include "core/seal.h"

#include <string>

#include <gtest/gtest.h>

namespace semel::core {
namespace {

const AesKey first_key{1, 2, 3};
const AesKey second_key{4, 5, 6};
const Salt salt{9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3};

Response answer() {
  return {.status = 201, .fields = {{"Location", "/v1/payments/canary-name"}}, .body = "canary-body"};
}

Belonging belonging() {
  return {.id = {1}, .fence = {.number = 3, .owner = 77}, .fingerprint = Fingerprint{.digest = {5}}};
}

bool opens(const Seals& seals, const Response& sealed, const Belonging& of) {
  const Result<SharedResponse> opened = seals.open(sealed, of);
  if (!opened) EXPECT_EQ(opened.error().code, Code::corrupt);
  return opened && **opened == answer();
}

// What was sealed comes back whole, and nothing of it can be read meanwhile, not even the status.
TEST(Seal, OpensWhatItSealed) {
  const Seals seals({first_key});
  const Response sealed = seals.seal(answer(), belonging(), salt);
  EXPECT_TRUE(is_sealed(sealed));
  EXPECT_TRUE(sealed.fields.empty());
  EXPECT_EQ(sealed.body.find("canary"), std::string::npos);
  EXPECT_TRUE(opens(seals, sealed, belonging()));
}

// Tombstones and bodies that compress come back as they were.
TEST(Seal, KeepsTombstonesAndLongBodies) {
  const Seals seals({first_key});
  const Response tombstone{.status = 200, .fields = {}, .body = {}, .body_kept = false};
  const Response large{.status = 200, .fields = {}, .body = std::string(100'000, 'x')};
  const auto opened = seals.open(seals.seal(tombstone, belonging(), salt), belonging());
  ASSERT_TRUE(opened);
  EXPECT_EQ(**opened, tombstone);
  const Response sealed = seals.seal(large, belonging(), salt);
  EXPECT_LT(sealed.body.size(), 10'000U);
  const auto again = seals.open(sealed, belonging());
  ASSERT_TRUE(again);
  EXPECT_EQ(**again, large);
}

// Under another key, fence or fingerprint it does not open: a record that was moved is noticed.
TEST(Seal, OpensNowhereElse) {
  const Seals seals({first_key});
  const Response sealed = seals.seal(answer(), belonging(), salt);
  Belonging other = belonging();
  other.id = {2};
  EXPECT_FALSE(opens(seals, sealed, other));
  other = belonging();
  other.fence.number = 4;
  EXPECT_FALSE(opens(seals, sealed, other));
  other = belonging();
  other.fence.owner = 78;
  EXPECT_FALSE(opens(seals, sealed, other));
  other = belonging();
  other.fingerprint = Fingerprint{.digest = {6}};
  EXPECT_FALSE(opens(seals, sealed, other));
}

// Sealed without a fingerprint it opens under any, and cannot be made to say that it was sealed with one.
TEST(Seal, MayBeBoundToTheClaimOnly) {
  const Seals seals({first_key});
  Belonging loose = belonging();
  loose.fingerprint.reset();
  Response sealed = seals.seal(answer(), loose, salt);
  EXPECT_TRUE(opens(seals, sealed, belonging()));
  sealed.body[1] = '\1';
  EXPECT_FALSE(opens(seals, sealed, belonging()));
}

// No single flipped bit and no missing tail passes.
TEST(Seal, RefusesEveryAlteration) {
  const Seals seals({first_key});
  const Response sealed = seals.seal(answer(), belonging(), salt);
  for (std::size_t at = 0; at < sealed.body.size(); ++at) {
    Response altered = sealed;
    altered.body[at] = static_cast<char>(altered.body[at] ^ 0x10);
    EXPECT_FALSE(opens(seals, altered, belonging())) << "byte " << at;
    Response shorter = sealed;
    shorter.body.resize(at);
    EXPECT_FALSE(opens(seals, shorter, belonging())) << "cut at " << at;
  }
}

// A new key in front encrypts, and the old one behind it still decrypts; without the old one nothing does.
TEST(Seal, KeysRotate) {
  const Seals before({first_key});
  const Seals during({second_key, first_key});
  const Seals after({second_key});
  const Response old = before.seal(answer(), belonging(), salt);
  EXPECT_TRUE(opens(during, old, belonging()));
  EXPECT_FALSE(opens(after, old, belonging()));
  const Response fresh = during.seal(answer(), belonging(), salt);
  EXPECT_TRUE(opens(after, fresh, belonging()));
  EXPECT_FALSE(opens(before, fresh, belonging()));
}

// Two seals of one answer have nothing in common behind their heads.
TEST(Seal, DiffersBySalt) {
  const Seals seals({first_key});
  const Salt other{1};
  const Response a = seals.seal(answer(), belonging(), salt);
  const Response b = seals.seal(answer(), belonging(), other);
  EXPECT_EQ(a.body.substr(0, 6), b.body.substr(0, 6));
  EXPECT_NE(a.body.substr(30), b.body.substr(30));
}

}  // namespace
}  // namespace semel::core
