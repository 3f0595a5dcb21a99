// Results: into the form that the gateway keeps, and back.
#include "api/result.h"

#include <string>

#include <gtest/gtest.h>

#include "api/request.h"
#include "core/json/writer.h"

namespace semel::test {
namespace {

std::expected<SharedResponse, api::Trouble> read(const std::string& text) {
  return api::read_result(core::json::JsonView(text), "/result", rules);
}

std::string written(const Response& response) {
  std::string out;
  core::json::JsonWriter json(out);
  api::write_result(json, response);
  return out;
}

std::string wrong(const std::string& text) {
  const auto result = read(text);
  return result ? "fine" : std::to_string(result.error().status) + " " + result.error().pointer;
}

// JSON is kept byte for byte, and said both ways.
TEST(ApiResult, KeepsJsonAsItIsWritten) {
  const auto result = read(R"({"body": {"a": 1.0} , "status":202})");
  ASSERT_TRUE(result);
  EXPECT_EQ(**result,
            (Response{.status = 202, .fields = {{"Content-Type", "application/json"}}, .body = R"({"a": 1.0})"}));
  EXPECT_EQ(written(**result),
            R"({"status":202,"content_type":"application/json","body":{"a": 1.0},"body_base64":"eyJhIjogMS4wfQ=="})");
}

// Bytes are bytes: without a type that nobody gave, and never as JSON unless they say so and are.
TEST(ApiResult, KeepsBytes) {
  const auto plain = read(R"({"body_base64":"/wA="})");
  ASSERT_TRUE(plain);
  EXPECT_EQ((*plain)->body, std::string("\xff\0", 2));
  EXPECT_EQ(written(**plain), R"({"status":200,"body_base64":"/wA="})");
  const Response broken{.status = 200, .fields = {{"content-type", "application/json"}}, .body = "{"};
  EXPECT_EQ(written(broken), R"({"status":200,"content_type":"application/json","body_base64":"ew=="})");
}

// No body, no content; a body that was too large says so.
TEST(ApiResult, SaysWhatIsMissing) {
  EXPECT_EQ((*read("{}"))->status, 204);
  EXPECT_EQ(written(*api::empty_result()), R"({"status":204})");
  const Response tombstone{.status = 201, .fields = {{"Location", "/x"}}, .body = {}, .body_kept = false};
  EXPECT_EQ(written(tombstone), R"({"status":201,"headers":{"location":"/x"},"body_kept":false})");
}

// Fields are bytes in HTTP and characters in JSON; what ends at a hop or speaks to one caller is left out.
TEST(ApiResult, KeepsFields) {
  const auto result =
      read(R"({"headers":{"X":["a","b"],"L":"caf\u00e9","Set-Cookie":"c","Connection":"L2","Date":"now"}})");
  ASSERT_TRUE(result);
  EXPECT_EQ((*result)->fields, (std::vector<Field>{{"X", "a"}, {"X", "b"}, {"L", "caf\xe9"}}));
  EXPECT_EQ(written(**result), R"({"status":204,"headers":{"l":"caf\u00e9","x":["a","b"]}})");
  EXPECT_EQ(wrong(R"({"headers":{"A":"\u20ac"}})"), "400 /result/headers/A");
  EXPECT_EQ(wrong(R"({"headers":{"A":"x\r\ny"}})"), "400 /result/headers/A");
  EXPECT_EQ(wrong(R"({"headers":{"A":[1]}})"), "400 /result/headers/A");
}

// Each mistake is named; over the limit the claim stands.
TEST(ApiResult, NamesMistakes) {
  EXPECT_EQ(wrong("[]"), "400 /result");
  EXPECT_EQ(wrong(R"({"status":99})"), "400 /result/status");
  EXPECT_EQ(wrong(R"({"status":"200"})"), "400 /result/status");
  EXPECT_EQ(wrong(R"({"content_type":""})"), "400 /result/content_type");
  EXPECT_EQ(wrong(R"({"body":1,"body":2})"), "400 /result/body");
  EXPECT_EQ(wrong(R"({"body":1,"body_base64":""})"), "400 /result/body_base64");
  EXPECT_EQ(wrong(R"({"body":")" + std::string(63, 'x') + "\"}"), "413 /result/body");
  EXPECT_EQ(wrong(R"({"body":")" + std::string(62, 'x') + "\"}"), "fine");
  EXPECT_EQ(wrong(R"({"headers":{"A":")" + std::string(123, 'x') + "\"}}"), "fine");
  EXPECT_EQ(wrong(R"({"headers":{"A":")" + std::string(124, 'x') + "\"}}"), "413 /result/headers");
}

}  // namespace
}  // namespace semel::test
