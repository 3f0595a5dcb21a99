// SHA-256 against published vectors, and the framing that keeps two inputs from becoming one.
#include "core/sha256.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/hex.h"

namespace semel::core {
namespace {

using test::to_hex;

// FIPS 180-4: none, one and several blocks.
TEST(Sha256, MatchesPublishedVectors) {
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(to_hex(sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// What is stored depends on the framing, so it is pinned: computed once with another program.
TEST(Sha256Parts, IsTheTagAndThePartsEachBehindItsLength) {
  EXPECT_EQ(to_hex(sha256_parts("tag", {"one", "", std::string(100, 'x')})),
            "feef51aa675c4850de3029410b6f03bb5a101eecab12ce6629d84b4580a1589b");
}

// Part sizes around the one up to which a part is hashed together with its length.
TEST(Sha256Parts, FramesPartsOfEverySize) {
  for (std::size_t size = 0; size < 130; ++size) {
    const std::string part(size, 'p');
    std::string framed;
    for (const std::string_view piece : std::initializer_list<std::string_view>{"t", part, part}) {
      framed += std::string(7, '\0') + static_cast<char>(piece.size());
      framed += piece;
    }
    EXPECT_EQ(sha256_parts("t", {part, part}), sha256(framed)) << size;
  }
}

// The same bytes divided in another way, or a part more, is another input.
TEST(Sha256Parts, TellsDivisionsApart) {
  const std::vector<Digest> digests = {
      sha256_parts("t", {"ab", "c"}), sha256_parts("t", {"a", "bc"}), sha256_parts("t", {"abc"}),
      sha256_parts("t", {"", "abc"}), sha256_parts("t", {"abc", ""}), sha256_parts("ta", {"b", "c"}),
      sha256_parts("tab", {"c"}),     sha256_parts("tabc", {}),       sha256("tabc")};
  for (std::size_t i = 0; i < digests.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(digests[i], digests[j]) << i << " " << j;
  }
}

// Two pairs of parts have the same hash only if they are the same pair, wherever a common text is divided.
RC_GTEST_PROP(Sha256Parts, TellsAnyTwoDivisionsApart, (const std::string& text)) {
  const auto divided = [&](std::size_t at) {
    return sha256_parts("t", {std::string_view(text).substr(0, at), std::string_view(text).substr(at)});
  };
  for (std::size_t at = 1; at <= text.size(); ++at) RC_ASSERT(divided(at) != divided(at - 1));
}

}  // namespace
}  // namespace semel::core
