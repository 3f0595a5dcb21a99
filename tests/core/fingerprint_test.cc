// When two requests are the same request.
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "support/hex.h"
#include <semel/fingerprint.h>
#include <semel/result.h>

namespace semel::core {
namespace {

Fingerprint json(std::string_view body, const std::vector<std::string>& ignore = {}) {
  return fingerprint({.method = "POST", .target = "/v1/orders?x=1", .body = body}, BodyForm::json,
                     *IgnoreList::parse(ignore));
}

Fingerprint raw(std::string_view body) {
  return fingerprint({.method = "POST", .target = "/v1/orders?x=1", .body = body}, BodyForm::raw);
}

// Fingerprints are stored with records, so they may never change: computed once with another program.
TEST(Fingerprint, IsStable) {
  EXPECT_EQ(test::to_hex(json(R"({"b":[true,"x"],"a":100})").digest),
            "d6521f5670697fabb4758a6b86f1bf3a03e72e548534c1034e7b5040bc6af0e0");
  EXPECT_EQ(test::to_hex(raw(R"({"a":100,"a":1})").digest),
            "0bf5fdb79aec29f3c05e4d775a2e79a2a90a66ee86d357a65be3c511c658d58d");
}

// Method, target and body all count, and where one ends and the next begins counts too.
TEST(Fingerprint, DiffersWithMethodTargetAndBody) {
  const std::vector<Request> requests = {{"POST", "/a", "1"},  {"PATCH", "/a", "1"},  {"POST", "/a?", "1"},
                                         {"POST", "/A", "1"},  {"POST", "/a", "2"},   {"POST", "/a1", ""},
                                         {"POST/", "a", "1"},  {"post", "/a", "1"},   {"POST", "/a", ""},
                                         {"POST", "/a/", "1"}, {"POST", "/%61", "1"}, {"POST", "", "/a1"}};
  for (const BodyForm form : {BodyForm::raw, BodyForm::json}) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        EXPECT_NE(fingerprint(requests[i], form), fingerprint(requests[j], form)) << i << " " << j;
      }
    }
  }
}

// A retry that spells its JSON in another way is the same request; as raw bytes it is not.
TEST(Fingerprint, LooksThroughTheSpellingOfJson) {
  EXPECT_EQ(json(R"({"amount":100,"to":"é"})"), json("{ \"to\" : \"\\u00e9\", \"amount\" : 1e2 }"));
  EXPECT_NE(raw(R"({"amount":100,"to":"é"})"), raw("{ \"to\" : \"\\u00e9\", \"amount\" : 1e2 }"));
  EXPECT_NE(json(R"({"amount":9007199254740993})"), json(R"({"amount":9007199254740992})"));
}

// A body without a canonical form is compared byte by byte: the same bytes match, anything else does not.
TEST(Fingerprint, FallsBackToBytes) {
  for (const std::string_view odd : {R"({"a":1,"a":2})", "not json", "", "\xFF", R"("\ud800")", "1e10000"}) {
    EXPECT_EQ(json(odd), json(odd));
    EXPECT_EQ(json(odd), raw(odd));
    EXPECT_NE(json(odd), json(std::string(odd) + " "));
  }
}

// A raw body that happens to be canonical JSON is not taken for a JSON body.
TEST(Fingerprint, KeepsJsonAndBytesApart) {
  EXPECT_NE(json(R"({"a":1})"), raw(R"({"a":1})"));
}

// Ignored members do not count in JSON; a body that is not JSON has no members.
TEST(Fingerprint, LeavesIgnoredMembersOut) {
  EXPECT_EQ(json(R"({"a":1,"sent_at":1})", {"/sent_at"}), json(R"({"a":1,"sent_at":2})", {"/sent_at"}));
  EXPECT_EQ(json(R"({"a":1,"sent_at":1})", {"/sent_at"}), json(R"({"a":1})"));
  EXPECT_NE(json(R"({"a":1,"sent_at":1})", {"/sent_at"}), json(R"({"a":2,"sent_at":1})", {"/sent_at"}));
  EXPECT_NE(json(R"({"sent_at":1)", {"/sent_at"}), json(R"({"sent_at":2)", {"/sent_at"}));
}

using Paths = std::vector<std::vector<std::string>>;

// RFC 6901 §5 and §4: tokens between slashes, `~1` for a slash and `~0` for a tilde, in that order.
TEST(IgnoreList, ReadsPointers) {
  const Result<IgnoreList> list =
      IgnoreList::parse({"/foo", "/foo/0", "/", "/a~1b", "/m~0n", "/~01", "/ ", "//", "/é/"});
  ASSERT_TRUE(list.has_value());
  EXPECT_EQ(list->paths(), (Paths{{"foo"}, {"foo", "0"}, {""}, {"a/b"}, {"m~n"}, {"~1"}, {" "}, {"", ""}, {"é", ""}}));
  EXPECT_FALSE(list->empty());
  EXPECT_TRUE(IgnoreList::parse({})->empty());
}

// One wrong pointer and there is no list: an operator who mistypes must hear of it, with the pointer named.
TEST(IgnoreList, RefusesWhatIsNoPointer) {
  for (const std::string_view wrong : {"", "a", "a/b", "#/a", "/~", "/~2", "/a/~", "/a~/b", "/\xFF", "$.a"}) {
    const Result<IgnoreList> list = IgnoreList::parse({"/fine", std::string(wrong)});
    ASSERT_FALSE(list.has_value()) << wrong;
    EXPECT_EQ(list.error().code, Code::invalid);
    EXPECT_FALSE(list.error().detail.contains("fine"));
  }
  EXPECT_TRUE(IgnoreList::parse({"/a/~2/b"}).error().detail.contains("/a/~2/b"));
}

}  // namespace
}  // namespace semel::core
