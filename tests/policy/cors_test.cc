// What browsers are told, and that nobody is told it who is not listed.
#include "policy/cors.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "support/rules.h"

namespace semel::policy {
namespace {

using test::Sent;

Cors ours() {
  Cors cors;
  cors.origins = {"https://app.example.com", "http://localhost:5173"};
  return cors;
}

Sent from(std::string_view origin) {
  return {.fields = {{"Origin", std::string(origin)}}};
}

std::string written(const Response& reply) {
  std::string text;
  for (const Field& field : reply.fields) text += field.name + ": " + field.value + "\n";
  return text;
}

std::string added(const Cors& cors, Sent request) {
  Response reply;
  add_cors(cors, request.view(), "Idempotent-Replayed", reply);
  return written(reply);
}

const std::string exposed = "Access-Control-Expose-Headers: Idempotent-Replayed, Idempotency-Expires, Retry-After\n";

// A page of a listed origin may read our answers and their marks; caches keep answers for different origins apart.
TEST(CorsFields, AreForListedOrigins) {
  EXPECT_EQ(added(ours(), from("https://app.example.com")),
            "Vary: Origin\nAccess-Control-Allow-Origin: https://app.example.com\n" + exposed);
  Cors with_cookies = ours();
  with_cookies.credentials = true;
  EXPECT_EQ(
      added(with_cookies, from("http://localhost:5173")),
      "Vary: Origin\nAccess-Control-Allow-Origin: http://localhost:5173\nAccess-Control-Allow-Credentials: true\n" +
          exposed);
  Cors any;
  any.origins = {"*"};
  EXPECT_EQ(added(any, from("https://anywhere.example")), "Vary: Origin\nAccess-Control-Allow-Origin: *\n" + exposed);
}

// Nothing that resembles a listed origin is taken for one, and none of it is repeated.
TEST(CorsFields, NeverRepeatAnOriginThatIsNotListed) {
  for (const std::string_view origin :
       {"https://app.example.com.evil.example", "https://evil.example", "http://app.example.com",
        "https://app.example.com:8443", "https://APP.example.com", "https://app.example.com/", "null", "", "*",
        "https://app.example.com, https://evil.example"}) {
    EXPECT_EQ(added(ours(), from(origin)), "Vary: Origin\n") << origin;
    EXPECT_FALSE(exposed_marks(ours(), from(origin).view(), "M")) << origin;
  }
  EXPECT_EQ(added(ours(), Sent{}), "Vary: Origin\n");
  EXPECT_EQ(added(ours(), {.fields = {{"Origin", "https://app.example.com"}, {"Origin", "https://evil.example"}}}),
            "Vary: Origin\n");
}

// Preflights are the service's, unless the configuration says otherwise; then they are answered for listed origins.
TEST(CorsFields, AnswerPreflightsWhereTheyShould) {
  Sent asked{.method = "OPTIONS",
             .fields = {{"Origin", "https://app.example.com"},
                        {"Access-Control-Request-Method", "POST"},
                        {"Access-Control-Request-Headers", "content-type, idempotency-key"}}};
  EXPECT_FALSE(answer_preflight(ours(), asked.view()));
  Cors answering = ours();
  answering.preflights = Preflights::answer;
  const auto reply = answer_preflight(answering, asked.view());
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 204);
  EXPECT_EQ(written(*reply),
            "Vary: Origin, Access-Control-Request-Method, Access-Control-Request-Headers\n"
            "Access-Control-Allow-Origin: https://app.example.com\nAccess-Control-Allow-Methods: POST\n"
            "Access-Control-Allow-Headers: content-type, idempotency-key\nAccess-Control-Max-Age: 600\n");
  asked.fields[0].second = "https://evil.example";
  EXPECT_EQ(written(answer_preflight(answering, asked.view()).value()),
            "Vary: Origin, Access-Control-Request-Method, Access-Control-Request-Headers\n");
  asked.fields[0].second = "https://app.example.com";
  asked.fields[2].second = "x\"<script>";
  EXPECT_EQ(written(answer_preflight(answering, asked.view()).value()).find("script"), std::string::npos);
  asked.method = "POST";
  EXPECT_FALSE(answer_preflight(answering, asked.view()));
  EXPECT_FALSE(answer_preflight(answering, Sent{.method = "OPTIONS"}.view()));
}

// Origins are written as browsers write them, or they would never match.
TEST(CorsFields, TakeOriginsAsBrowsersWriteThem) {
  for (const std::string_view good : {"https://app.example.com", "http://localhost:3000", "http://[::1]:3000", "*"}) {
    EXPECT_TRUE(check_origin(good)) << good;
  }
  const auto meant = [](std::string_view text) { return check_origin(text).error().suggestion; };
  EXPECT_EQ(meant("https://app.example.com/"), "https://app.example.com");
  EXPECT_EQ(meant("https://app.example.com/pay"), "https://app.example.com");
  EXPECT_EQ(meant("https://App.example.com"), "https://app.example.com");
  EXPECT_EQ(meant("https://app.example.com:443"), "https://app.example.com");
  for (const std::string_view bad : {"app.example.com", "https://*.example.com", "null", ""}) {
    EXPECT_FALSE(check_origin(bad)) << bad;
  }
}

}  // namespace
}  // namespace semel::policy
