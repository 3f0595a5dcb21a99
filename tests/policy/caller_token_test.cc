// Tokens of callers: which count, which do not, and that a token never chooses how it is verified.
#include "policy/caller_token.h"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "core/crypto.h"
#include "core/encoding.h"
#include "policy/jwt.h"
#include "support/rules.h"

namespace semel::policy {
namespace {

using test::Sent;

constexpr Time now{std::chrono::seconds(1'300'819'000)};  // the examples of RFC 7515 expire at ...819'380
const std::string our_secret(32, 's');

// RFC 7515, appendices A.2 and A.3: one set with both keys.
constexpr std::string_view modulus =
    "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-"
    "pCgNM"
    "sD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-"
    "UTo7WTBEMa2R2CapHg665xsmtd"
    "VMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
const std::string key_set = R"({"keys":[{"kty":"RSA","e":"AQAB","n":")" + std::string(modulus) +
                            R"("},{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",)"
                            R"("y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]})";
constexpr std::string_view rs256 =
    "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlf"
    "Q.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_"
    "O8W2Fp5jujGbds9uJdbF9CUAr7t1"
    "dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--"
    "xi12jzDwu"
    "sC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_"
    "IoypGlUPQGe77Rw";
constexpr std::string_view es256 =
    "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlf"
    "Q.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";

TokenRules by_secret() {
  TokenRules rules;
  rules.algorithms = {"HS256"};
  rules.secret = reading::Secret(our_secret);
  return rules;
}

TokenRules by_keys() {
  TokenRules rules;
  rules.algorithms = {"RS256", "ES256"};
  rules.keys = key_set;
  return rules;
}

std::string made(std::string_view head, std::string_view claims, std::string_view secret = our_secret) {
  std::string text = core::to_base64(head, core::Base64::url) + "." + core::to_base64(claims, core::Base64::url);
  text += "." + core::to_base64(core::hmac(core::HmacHash::sha256, secret, text), core::Base64::url);
  return text;
}

std::string token(std::string_view claims) {
  return made(R"({"alg":"HS256","typ":"JWT"})", claims);
}

std::string judged(const TokenRules& rules, const std::string& authorization, Time at = now,
                   std::optional<std::string_view> fetched = std::nullopt) {
  Sent sent;
  if (!authorization.empty()) sent.fields = {{"Authorization", authorization}};
  const JudgedCaller judgement = judge_caller(rules, sent.view(), at, fetched);
  if (const auto* claims = std::get_if<TokenClaims>(&judgement)) return claims->json;
  if (const auto* fault = std::get_if<TokenFault>(&judgement)) return std::string(words(*fault));
  if (const auto* wanted = std::get_if<KeysWanted>(&judgement)) return wanted->refresh ? "newer keys" : "keys";
  return "no token";
}

const std::string good = R"({"sub":"ann","exp":1300819380})";

// The claims of a token that counts are handed on as they were signed.
TEST(CallerToken, HandsOnTheClaimsOfATokenThatCounts) {
  EXPECT_EQ(judged(by_secret(), "Bearer " + token(good)), good);
  EXPECT_EQ(judged(by_secret(), "bearer " + token(good)), good);
  EXPECT_EQ(judged(by_secret(), token(good)), good);
  EXPECT_EQ(judged(by_secret(), ""), "no token");
  EXPECT_EQ(judged(by_secret(), "Basic dXNlcjpwYXNz"), "the token cannot be read");
}

// The examples of the standard, by a set of public keys.
TEST(CallerToken, VerifiesTheExamplesOfTheStandard) {
  for (const std::string_view example : {rs256, es256}) {
    EXPECT_TRUE(judged(by_keys(), "Bearer " + std::string(example)).starts_with(R"({"iss":"joe")")) << example;
  }
  TokenRules by_rfc = by_secret();
  by_rfc.secret = reading::Secret(
      core::from_base64("AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow",
                        core::Base64::url)
          .value());
  EXPECT_TRUE(judged(by_rfc,
                     "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6"
                     "Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
                  .starts_with(R"({"iss":"joe")"));
  const auto edwards = read_token(
      "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki"
      "4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg");
  ASSERT_TRUE(edwards);
  const std::string_view key = R"({"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"})";
  EXPECT_TRUE(is_signed_by(*edwards, key));
}

// One changed character anywhere, and the token counts no more.
TEST(CallerToken, RefusesATokenThatWasChanged) {
  for (const std::string& whole : {token(good), std::string(es256)}) {
    const TokenRules rules = whole == es256 ? by_keys() : by_secret();
    ASSERT_TRUE(judged(rules, whole).starts_with("{")) << whole;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      std::string changed = whole;
      changed[i] = changed[i] == 'A' ? 'B' : 'A';
      EXPECT_FALSE(judged(rules, changed).starts_with("{")) << changed;
    }
  }
}

// The configuration chooses the algorithm. A public key is known to everybody, so it must never pass for a secret.
TEST(CallerToken, NeverLetsTheTokenChooseTheAlgorithm) {
  const std::string unsigned_token =
      core::to_base64(R"({"alg":"none"})", core::Base64::url) + "." + core::to_base64(good, core::Base64::url) + ".";
  EXPECT_EQ(judged(by_secret(), unsigned_token), "the token is signed with an algorithm that is not accepted here");
  EXPECT_EQ(judged(by_keys(), unsigned_token), "the token is signed with an algorithm that is not accepted here");
  EXPECT_EQ(judged(by_secret(), std::string(rs256)), "the token is signed with an algorithm that is not accepted here");
  const std::string number = core::from_base64(modulus, core::Base64::url).value();
  for (const std::string& public_text : {key_set, std::string(modulus), number, std::string()}) {
    const std::string confused = made(R"({"alg":"HS256"})", good, public_text);
    EXPECT_EQ(judged(by_keys(), confused), "the token is signed with an algorithm that is not accepted here");
    TokenRules both = by_keys();
    both.algorithms.emplace_back("HS256");
    both.secret = reading::Secret(our_secret);
    EXPECT_EQ(judged(both, confused), "the signature of the token is wrong");
    both.secret = reading::Secret();
    EXPECT_EQ(judged(both, confused), "the signature of the token is wrong");
  }
  EXPECT_EQ(judged(by_secret(), made(R"({"alg":"HS256","crit":["exp"]})", good)), "the token cannot be read");
  EXPECT_EQ(judged(by_secret(), made(R"({"alg":"HS256","alg":"none"})", good)), "the token cannot be read");
}

// What must be understood is not understood here, however it is written; and a key that is named in an odd way is not
// a token without one.
TEST(CallerToken, PassesOverNothingInItsHead) {
  for (const std::string_view member :
       {R"("crit":{})", R"("crit":null)", R"("crit":[])", R"("crit":["x"],"crit":["y"])", R"("\u0063rit":["x"])",
        R"("kid":null)", R"("kid":["a"])", R"("kid":{})", R"("kid":"a","kid":"b")"}) {
    const std::string head = R"({"alg":"HS256",)" + std::string(member) + "}";
    EXPECT_EQ(judged(by_secret(), made(head, good)), "the token cannot be read") << head;
  }
  EXPECT_EQ(judged(by_secret(), made(R"({"alg":"HS256","kid":"a","jku\/":[1]})", good)), good);
}

// 16 KiB, whatever the limits of heads allow.
TEST(CallerToken, HasALimit) {
  const auto with = [](std::size_t bytes) {
    const std::string claims = R"({"exp":1300819380,"x":")" + std::string(bytes, 'y') + "\"}";
    return judged(by_secret(), token(claims)) == claims;
  };
  EXPECT_TRUE(with(12'000));
  EXPECT_FALSE(with(12'288));
}

// A key that is published for something else verifies nothing.
TEST(CallerToken, UsesAKeyForItsOwnPurpose) {
  for (const std::string_view member : {R"("use":"enc",)", R"("alg":"RS512",)", R"("kty":"EC",)"}) {
    TokenRules rules = by_keys();
    rules.keys =
        R"({"keys":[{)" + std::string(member) + R"("kty":"RSA","e":"AQAB","n":")" + std::string(modulus) + "\"}]}";
    EXPECT_EQ(judged(rules, std::string(rs256)), "the signature of the token is wrong") << member;
  }
}

// `exp` must be there, and `nbf` counts if it is. Clocks may differ by the leeway, and no more.
TEST(CallerToken, CountsOnlyInItsTime) {
  const Time end{std::chrono::seconds(1'300'819'380)};
  EXPECT_EQ(judged(by_secret(), token(good), end + Millis{29'999}), good);
  EXPECT_EQ(judged(by_secret(), token(good), end + Millis{30'000}), "the token has expired");
  EXPECT_EQ(judged(by_secret(), token(R"({"sub":"ann"})")), "the token does not say when it expires");
  EXPECT_EQ(judged(by_secret(), token(R"({"exp":"soon"})")), "the token cannot be read");
  EXPECT_EQ(judged(by_secret(), token(R"({"exp":-1})")), "the token cannot be read");
  EXPECT_EQ(judged(by_secret(), token(R"({"exp":1e300})")), "the token cannot be read");
  const std::string later = R"({"exp":1300819380.5,"nbf":1300819030})";
  EXPECT_EQ(judged(by_secret(), token(later)), later);
  EXPECT_EQ(judged(by_secret(), token(later), now - Millis{1}), "the token is not valid yet");
  EXPECT_EQ(judged(by_secret(), token("not json")), "the token cannot be read");
  EXPECT_EQ(judged(by_secret(), token(R"({"exp":9999999999,"exp":1300819380})")),
            "the token does not say when it expires");
  for (const std::string_view odd :
       {"null", "[9999999999]", R"({"a":1})", R"(1300819030,"nbf":9999999999)", R"(1,"\u006ebf":1)", "\"soon\""}) {
    const std::string claims = R"({"exp":1300819380,"nbf":)" + std::string(odd) + "}";
    EXPECT_EQ(judged(by_secret(), token(claims)), "the token cannot be read") << claims;
  }
}

// What was made by another issuer, or for another service, is not ours.
TEST(CallerToken, HasTheIssuerAndTheAudience) {
  TokenRules rules = by_secret();
  rules.issuer = "us";
  rules.audience = {"pay", "refund"};
  const auto with = [&](std::string_view members) {
    const std::string claims = R"({"exp":1300819380)" + std::string(members) + "}";
    const std::string said = judged(rules, token(claims));
    return said == claims ? "counts" : said;
  };
  EXPECT_EQ(with(R"(,"iss":"us","aud":"pay")"), "counts");
  EXPECT_EQ(with(R"(,"iss":"us","aud":["other","refund"])"), "counts");
  EXPECT_EQ(with(R"(,"aud":"pay")"), "the token comes from another issuer");
  EXPECT_EQ(with(R"(,"iss":"us.evil","aud":"pay")"), "the token comes from another issuer");
  EXPECT_EQ(with(R"(,"iss":"us")"), "the token is for another audience");
  EXPECT_EQ(with(R"(,"iss":"us","aud":[])"), "the token is for another audience");
  EXPECT_EQ(with(R"(,"iss":"us","aud":["pa","y"])"), "the token is for another audience");
  EXPECT_EQ(with(R"(,"iss":"us","aud":{"pay":1})"), "the token is for another audience");
}

// A set of keys that has to be fetched is asked for, and asked for anew when it lacks the key that a token names.
TEST(CallerToken, SaysWhichKeysItNeeds) {
  TokenRules rules = by_keys();
  rules.keys.clear();
  rules.keys_url = "https://login.example.com/keys";
  EXPECT_EQ(judged(rules, std::string(rs256)), "keys");
  EXPECT_TRUE(judged(rules, std::string(rs256), now, key_set).starts_with("{"));
  const std::string named = core::to_base64(R"({"alg":"RS256","kid":"new"})", core::Base64::url) + ".e30.AAAA";
  EXPECT_EQ(judged(rules, named, now, key_set), "newer keys");
  EXPECT_EQ(judged(rules, "nonsense"), "the token cannot be read") << "nothing is fetched for it";
  EXPECT_EQ(judged(by_keys(), named), "the signature of the token is wrong") << "a file does not change";
}

// The token may be in a cookie, and two of them are none.
TEST(CallerToken, IsWhereTheRulesSay) {
  TokenRules rules = by_secret();
  rules.from = expression("{cookie:session}");
  Sent sent{.fields = {{"Cookie", "a=b; session=" + token(good)}}};
  EXPECT_TRUE(std::holds_alternative<TokenClaims>(judge_caller(rules, sent.view(), now, std::nullopt)));
  sent.fields.emplace_back("Cookie", "session=" + token(good));
  const JudgedCaller twice = judge_caller(rules, sent.view(), now, std::nullopt);
  EXPECT_EQ(std::get<TokenFault>(twice), TokenFault::malformed);
}

}  // namespace
}  // namespace semel::policy
