// The identity of a store: wrapped by a key, opened by that key alone, and what names are made of.
#include "core/identity.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/encoding.h"

namespace semel::core {
namespace {

const AesKey old_key{1, 2, 3};
const AesKey new_key{4, 5, 6};
const Salt salt{9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3};
const StoreIdentity identity{42, 43, 44};

Key key_of(const std::string& scope, const std::string& text) {
  return *make_key("orders", scope, text);
}

std::string hex(const auto& bytes) {
  return to_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// What was wrapped opens again, by any key of the list that fits, and says by which; nothing of it can be read.
TEST(Identity, OpensByTheKeyThatWrappedIt) {
  const std::string wrapped = wrap(identity, old_key, salt);
  EXPECT_EQ(wrapped.size(), wrapped_bytes);
  EXPECT_EQ(wrapped.find(std::string(identity.begin(), identity.begin() + 3)), std::string::npos);
  const auto opened = unwrap(wrapped, {new_key, old_key});
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->identity, identity);
  EXPECT_EQ(opened->key, 1U);
  EXPECT_FALSE(unwrap(wrapped, {new_key}));
  EXPECT_FALSE(unwrap(wrapped, {}));
}

// A single bit that differs, or a byte more or less, opens nothing.
TEST(Identity, IsNotOpenedOnceItWasAltered) {
  const std::string wrapped = wrap(identity, old_key, salt);
  for (std::size_t i = 0; i < wrapped.size(); ++i) {
    std::string altered = wrapped;
    altered[i] = static_cast<char>(altered[i] ^ 1);
    EXPECT_FALSE(unwrap(altered, {old_key})) << i;
    EXPECT_FALSE(unwrap(wrapped.substr(0, i), {old_key})) << i;
  }
  EXPECT_FALSE(unwrap(wrapped + '\0', {old_key}));
}

// Names are the HMACs that docs/adr/0013 describes, made here with Python's hmac; they must never change.
TEST(KeyNames, AreTheDocumentedHmacs) {
  const Key named = KeyNames(identity).name(key_of("tenant", "k1"));
  EXPECT_EQ(hex(named.id), "53143dc9ec6726496fcef7d1a7605f9678d2a01a4d2930602c02b8365c47bd2c");
  EXPECT_EQ(hex(named.scope), "c9b79a1fa5b2084297ca75002ec59e62");
  EXPECT_EQ(hex(mark_of(identity)), "47c39937733b87eb90fd8ed7a9976aec06896de41fd302d195b66d67290cb6a7");
}

// Nothing of the plain hashes is left; one scope is still one scope; namespace and home stay.
TEST(KeyNames, HideIdAndScope) {
  const KeyNames names(identity);
  Key key = key_of("tenant", "k1");
  key.home = 7;
  const Key named = names.name(key);
  EXPECT_NE(named.id, key.id);
  EXPECT_NE(named.scope, key.scope);
  EXPECT_EQ(named.space, "orders");
  EXPECT_EQ(named.home, 7U);
  EXPECT_EQ(names.name(key).id, named.id) << "the same every time";
  EXPECT_EQ(names.name(key_of("tenant", "k2")).scope, named.scope);
  EXPECT_NE(names.name(key_of("tenant", "k2")).id, named.id);
  EXPECT_NE(names.name(key_of("other", "k1")).scope, named.scope);
}

// Another store gives every key another name, and has another mark.
TEST(KeyNames, DifferBetweenStores) {
  const StoreIdentity other{42, 43, 45};
  const Key key = key_of("tenant", "k1");
  EXPECT_NE(KeyNames(identity).name(key).id, KeyNames(other).name(key).id);
  EXPECT_NE(KeyNames(identity).name(key).scope, KeyNames(other).name(key).scope);
  EXPECT_NE(mark_of(identity), mark_of(other));
}

}  // namespace
}  // namespace semel::core
