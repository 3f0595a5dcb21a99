// One item: what is read of it, and which member is named if it is wrong.
#include "api/item.h"

#include <string>

#include <gtest/gtest.h>

#include "api/request.h"
#include "core/encoding.h"
#include <semel/fingerprint.h>
#include <semel/key.h>

namespace semel::test {
namespace {

using api::ApiCall;

const std::string plain = R"({"namespace":"orders","key":"k","owner":"0123456789abcdef"})";

std::string with(const std::string& members) {
  return plain.substr(0, plain.size() - 1) + "," + members + "}";
}

// The key is the one that the gateway makes of the same parts.
TEST(ApiItem, NamesTheKeyOfTheGateway) {
  const auto item = item_of(ApiCall::claim, with(R"("scope":"t7")"));
  ASSERT_TRUE(item);
  EXPECT_EQ(item->key, *make_key("orders", "t7", "k"));
  EXPECT_EQ(item_of(ApiCall::claim, plain)->key, *make_key("orders", "", "k"));
}

// The store's owner follows from the key and the caller's owner, and from nothing else.
TEST(ApiItem, OwnerIsOfTheKeyAndTheCaller) {
  const auto one = item_of(ApiCall::claim, plain);
  const auto same = item_of(ApiCall::claim, with(R"("lease_ms":5,"payload":1)"));
  const auto scoped = item_of(ApiCall::claim, with(R"("scope":"x")"));
  const auto other = item_of(ApiCall::claim, R"({"namespace":"orders","key":"k","owner":"0123456789abcdeg"})");
  ASSERT_TRUE(one && same && scoped && other);
  EXPECT_EQ(one->terms.owner, same->terms.owner);
  EXPECT_NE(one->terms.owner, scoped->terms.owner);
  EXPECT_NE(one->terms.owner, other->terms.owner);
}

// Payloads are compared by their meaning; a fingerprint is taken as it is; without one there is a third.
TEST(ApiItem, ComparesByPayloadOrFingerprint) {
  const auto a = item_of(ApiCall::claim, with(R"("payload":{"a":1,"b":2.0})"));
  const auto b = item_of(ApiCall::claim, with(R"("payload":{ "b":2, "a":1 })"));
  const auto none = item_of(ApiCall::claim, plain);
  ASSERT_TRUE(a && b && none);
  EXPECT_EQ(a->fingerprint, b->fingerprint);
  EXPECT_EQ(a->fingerprint, fingerprint({.method = {}, .target = {}, .body = R"({"b":2,"a":1})"}, BodyForm::json));
  EXPECT_NE(a->fingerprint, none->fingerprint);
  const auto given = item_of(ApiCall::claim, with(R"("fingerprint":")" + std::string(64, 'A') + "\""));
  ASSERT_TRUE(given);
  EXPECT_EQ(core::to_hex(given->fingerprint->digest), std::string(64, 'a'));
  EXPECT_FALSE(item_of(ApiCall::get, R"({"namespace":"orders","key":"k"})")->fingerprint) << "a look compares nothing";
}

// A token's ceilings are the defaults where they are lower, and never exceeded.
TEST(ApiItem, KeepsToTheCeilingsOfTheToken) {
  config::ApiToken token = token_for("orders");
  token.lease_max = Millis{5'000};
  token.ttl_max = Millis{60'000};
  const auto item = item_of(ApiCall::claim, plain, token);
  ASSERT_TRUE(item);
  EXPECT_EQ(item->terms.lease, Millis{5'000});
  EXPECT_EQ(item->terms.ttl, Millis{60'000});
  EXPECT_EQ(refusal(item_of(ApiCall::claim, with(R"("lease_ms":5001)"), token)), "403 /lease_ms");
  EXPECT_EQ(refusal(item_of(ApiCall::claim, with(R"("ttl_ms":60001)"), token)), "403 /ttl_ms");
  EXPECT_EQ(refusal(item_of(ApiCall::claim, with(R"("lease_ms":5000,"ttl_ms":60000)"), token)), "fine");
}

// A fixed scope is the only one.
TEST(ApiItem, KeepsToTheScopeOfTheToken) {
  config::ApiToken token = token_for("orders");
  token.scope = "t7";
  EXPECT_EQ(item_of(ApiCall::claim, plain, token)->key, *make_key("orders", "t7", "k"));
  EXPECT_EQ(refusal(item_of(ApiCall::claim, with(R"("scope":"t7")"), token)), "fine");
  EXPECT_EQ(refusal(item_of(ApiCall::claim, with(R"("scope":"t8")"), token)), "403 /scope");
  EXPECT_EQ(refusal(item_of(ApiCall::claim, with(R"("scope":"")"), token)), "403 /scope");
}

// The mark of an object begins with a byte that no caller's key may have: one could end the process otherwise.
TEST(ApiItem, RefusesTheKeysOfObjects) {
  const auto key = [](const std::string& text) {
    return refusal(
        item_of(ApiCall::claim, R"({"namespace":"orders","owner":"0123456789abcdef","key":")" + text + "\"}"));
  };
  EXPECT_EQ(key("\\u0002abc"), "400 /key");
  EXPECT_EQ(key("\\u0001\\u0002"), "400 /key");
  EXPECT_EQ(key("\\u0001abc"), "fine") << "keys that the gateway composes";
  EXPECT_EQ(key("caf\u00e9"), "fine");
}

// Numbers order as numbers. An event lives where its object does.
TEST(ApiItem, ReadsTheOrder) {
  const auto stamp = [](const std::string& text) {
    const auto item = item_of(ApiCall::claim, with(R"("order":{"object":"o","stamp":)" + text + "}"));
    return item ? item->terms.order->stamp : refusal(item);
  };
  EXPECT_LT(stamp("9"), stamp("10"));
  EXPECT_LT(stamp("9007199254740992"), stamp("9007199254740993"));
  EXPECT_EQ(stamp("\"a\""), "a");
  EXPECT_EQ(stamp("null"), "400 /order");
  EXPECT_EQ(stamp("\"\""), "400 /order");
  const auto item = item_of(ApiCall::claim, with(R"("order":{"stamp":1,"object":"o"})"));
  ASSERT_TRUE(item);
  EXPECT_NE(item->key.home, 0U);
  EXPECT_EQ(item->key.home, item->terms.order->object.home);
}

// A fence is what the claim was answered with, and says where the key lives.
TEST(ApiItem, ReadsItsOwnFences) {
  const Fence fence{.number = 3, .owner = 0x00ab'0000'0000'0001};
  for (const std::uint64_t home : {std::uint64_t{0}, std::uint64_t{77}}) {
    const auto named = api::parse_fence(api::fence_text(fence, home));
    ASSERT_TRUE(named);
    EXPECT_EQ(named->fence, fence);
    EXPECT_EQ(named->home, home);
  }
  for (const char* const text :
       {"", "1", "1.", ".0123456789abcdef", "1.0123456789abcde", "1.0123456789abcdefg", "1.0123456789abcdef.",
        "-1.0123456789abcdef", "1.0x23456789abcdef", "1.0123456789abcdef.0123456789abcde"}) {
    EXPECT_FALSE(api::parse_fence(text)) << text;
  }
}

// Each call has its own members.
TEST(ApiItem, RefusesMembersOfOtherCalls) {
  const std::string end = R"({"namespace":"orders","key":"k","fence":"1.0123456789abcdef")";
  EXPECT_EQ(refusal(item_of(ApiCall::release, end + "}")), "fine");
  EXPECT_EQ(refusal(item_of(ApiCall::release, end + R"(,"result":{}})")), "400 /result");
  EXPECT_EQ(refusal(item_of(ApiCall::complete, end + R"(,"result":{}})")), "fine");
  EXPECT_EQ(refusal(item_of(ApiCall::renew, end + R"(,"owner":"0123456789abcdef"})")), "400 /owner");
  EXPECT_EQ(refusal(item_of(ApiCall::get, plain)), "400 /owner");
  EXPECT_EQ(refusal(item_of(ApiCall::claim, with(R"("key":"l")"))), "400 /key") << "twice";
}

}  // namespace
}  // namespace semel::test
