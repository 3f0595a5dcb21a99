// What of a stored answer or an event nobody is shown.
#include "admin/redact.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <gtest/gtest.h>

#include "core/encoding.h"
#include "core/json/writer.h"
#include <semel/fingerprint.h>
#include <semel/response.h>

namespace semel::admin {
namespace {

using std::string_literals::operator""s;

std::string written(const Response& response, const IgnoreList& list) {
  std::string text;
  core::json::JsonWriter json(text);
  json.begin_object();
  write_shown(json, response, list);
  json.end_object();
  return text;
}

struct Shown {
  std::string body;
  bool redacted = false;
};

Shown shown(const Response& response, const IgnoreList& list) {
  const boost::json::object made = boost::json::parse(written(response, list)).as_object();
  return {.body = core::from_base64(std::string(made.at("body_base64").as_string())).value_or("(no base64)"),
          .redacted = made.at("redacted").as_bool()};
}

// Null: the body has no Content-Type.
Response answer(std::string body, std::optional<std::string> type = "application/json") {
  Response made;
  if (type) made.fields.push_back({.name = "content-type", .value = *std::move(type)});
  made.body = std::move(body);
  return made;
}

std::string body_shown(std::string body, const IgnoreList& list) {
  return shown(answer(std::move(body)), list).body;
}

// Goal: what the pointers name is covered, wherever it is, and a body without it stays as it is.
TEST(Redact, CoversWhatIsNamed) {
  const IgnoreList list = *IgnoreList::parse({"/card/number", "/a~1b", "/list/1"});
  EXPECT_EQ(body_shown(R"({"card":{"number":1,"x":2},"a/b":{"deep":[1]},"list":[1,2,3]})", list),
            R"({"card":{"number":"[redacted]","x":2},"a/b":"[redacted]","list":[1,"[redacted]",3]})");
  for (const std::string body : {R"({ "other": 1 })", "", R"({"list":{"2":1}})", R"({"card":[1]})", "12"}) {
    EXPECT_EQ(body_shown(body, list), body);
    EXPECT_FALSE(shown(answer(body), list).redacted);
  }
  EXPECT_EQ(body_shown(R"({"card":{"number":1}})", {}), R"({"card":{"number":1}})");
}

// Goal: a member that is there twice, at any level and in any spelling, is followed each time; what is not named stays,
// also where a reader would keep one of two only.
TEST(Redact, FollowsEveryMemberOfAName) {
  const IgnoreList list = *IgnoreList::parse({"/card/number", "/items/0/secret", "/card/number/deep"});
  const std::vector<std::pair<std::string, std::string>> bodies{
      {R"({"card":{"number":"4111"},"card":{"x":1}})", R"({"card":{"number":"[redacted]"},"card":{"x":1}})"},
      {R"({"card":{"x":1},"card":{"number":"4111"}})", R"({"card":{"x":1},"card":{"number":"[redacted]"}})"},
      {R"({"card":{"number":"4111","number":5}})", R"({"card":{"number":"[redacted]","number":"[redacted]"}})"},
      {R"({"c\u0061rd":{"number":"4111"},"card":1})", R"({"c\u0061rd":{"number":"[redacted]"},"card":1})"},
      {R"({"card":{"n\u0075mber":{"deep":"4111"}},"card":[]})", R"({"card":{"n\u0075mber":"[redacted]"},"card":[]})"},
      {R"({"items":[{"secret":"4111"}],"items":[]})", R"({"items":[{"secret":"[redacted]"}],"items":[]})"},
      {R"({"items":{"0":{"secret":"4111"}}, "items": 1.50})",
       R"({"items":{"0":{"secret":"[redacted]"}}, "items": 1.50})"},
  };
  for (const auto& [body, expected] : bodies) {
    EXPECT_EQ(body_shown(body, list), expected);
    EXPECT_TRUE(shown(answer(body), list).redacted) << body;
  }
}

// Goal: JSON that is hard to read is no way around the pointers: it is covered as any other, or hidden as a whole,
// whatever its Content-Type says.
TEST(Redact, HidesWhatItCannotLookInto) {
  const IgnoreList list = *IgnoreList::parse({"/card"});
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  const std::vector<std::string> bodies{"\xEF\xBB\xBF{\"card\":\"4111\"}",
                                        "{\"card\":\"4111\",\"x\":\"\xFF\"}",
                                        "{\"c\xC1\xA1rd\":\"4111\"}",
                                        "{\"card\":\"4111\",\"x\":" + nested(100) + "}",
                                        "{\"card\":\"4111\",\"x\":" + nested(5'000) + "}",
                                        "\n {\"card\":\"4111\",}",
                                        "{'card':'4111'}",
                                        "{\"card\":\"4111\"} {\"card\":\"4111\"}",
                                        "\0{\"card\":\"4111\"}"s,
                                        "{\"card\":\"4111\"}\0"s,
                                        "\v{\"card\":\"4111\"}",
                                        "\xC2\xA0{\"card\":\"4111\"}",
                                        "\x1E{\"card\":\"4111\"}\n",
                                        "/*x*/{\"card\":\"4111\"}",
                                        "#c\n{\"card\":\"4111\"}",
                                        ")]}',\n{\"card\":\"4111\"}",
                                        "cb({\"card\":\"4111\"})",
                                        "payload=%7B%22card%22%3A%224111%22%7D",
                                        "payload=%7b%22card%22%3a%224111%22%7d"};
  for (const std::string& body : bodies) {
    for (const std::optional<std::string>& type : {std::optional<std::string>(), std::optional("application/json"s),
                                                   std::optional("text/plain"s), std::optional("text/javascript"s)}) {
      EXPECT_EQ(shown(answer(body, type), list).body.find("4111"), std::string::npos) << body.substr(0, 40);
      EXPECT_TRUE(shown(answer(body, type), list).redacted) << body.substr(0, 40);
      EXPECT_EQ(shown(answer(body, type), {}).body, body);
    }
  }
}

// Goal: what is not UTF-8 text may be JSON for somebody: in UTF-16 and UTF-32, and compressed without a word of it.
TEST(Redact, HidesBytes) {
  const IgnoreList list = *IgnoreList::parse({"/card"});
  const std::vector<std::string> bodies{"\xFF\xFE{\0\"\0c\0\"\0:\0001\0}\0"s,
                                        "\0{\0\"\0c\0\"\0:\0001\0}"s,
                                        "{\0\0\0\"\0\0\0}\0\0\0"s,
                                        "\x1F\x8B\x08 packed",
                                        "\x28\xB5\x2F\xFD packed",
                                        "\x78\x9C packed",
                                        "\x78\x01 packed \xFE"};
  for (const std::string& body : bodies) {
    for (const std::string_view type : {"application/json", "text/plain", "application/octet-stream", ""}) {
      EXPECT_TRUE(shown(answer(body, std::string(type)), list).redacted) << core::to_hex(body) << " as " << type;
      EXPECT_NE(shown(answer(body, std::string(type)), list).body, body) << core::to_hex(body) << " as " << type;
    }
  }
}

// Goal: text is shown if it is sure that it is no JSON: by its one Content-Type, and by itself.
TEST(Redact, ShowsTextOfAnotherKind) {
  const IgnoreList list = *IgnoreList::parse({"/card"});
  const std::string text = "<a>f\xC3\xBCr alle</a>\r\n\tok";
  for (const std::string type :
       {"text/plain", "application/xml; charset=utf-8", "Text/HTML", "application/x-www-form-urlencoded"}) {
    EXPECT_EQ(shown(answer(text, type), list).body, text) << type;
    EXPECT_FALSE(shown(answer(text, type), list).redacted) << type;
  }
  for (const std::string type : {"", "APPLICATION/JSON; charset=utf-16", "application/vnd.api+json;v=1", "text/json",
                                 "application/x-ndjson", "application/json-seq", "application/javascript"}) {
    EXPECT_TRUE(shown(answer(text, type), list).redacted) << type;
  }
  EXPECT_TRUE(shown(answer(text, std::nullopt), list).redacted);
  Response twice = answer(text, "text/plain");
  twice.fields.push_back({.name = "Content-Type", .value = "text/plain"});
  EXPECT_TRUE(shown(twice, list).redacted);
}

// Goal: what was taken from a hidden value, and is kept beside the fields, is hidden with it, and only then.
TEST(Redact, HidesTheObjectWithItsValue) {
  const auto object_of = [](std::string body, std::string object, const IgnoreList& list) {
    Response event = answer(std::move(body));
    event.fields.insert(event.fields.begin(), {.name = ":object", .value = std::move(object)});
    const boost::json::object made = boost::json::parse(written(event, list)).as_object();
    return std::string(made.at("fields").as_array().at(0).as_object().at("value").as_string());
  };
  const IgnoreList id = *IgnoreList::parse({"/data/id"});
  const IgnoreList data = *IgnoreList::parse({"/data"});
  const std::string body = R"({"data":{"id":"s\u0075b_1","n":[ 17 ]},"other":"x"})";
  EXPECT_EQ(object_of(body, "sub_1", id), "[redacted]");
  EXPECT_EQ(object_of(body, "plan:sub_1", id), "[redacted]");
  EXPECT_EQ(object_of(body, "17", data), "[redacted]");
  EXPECT_EQ(object_of(body, "17", id), "17");
  EXPECT_EQ(object_of(body, "x", data), "x");
  EXPECT_EQ(object_of(body, "sub_1", {}), "sub_1");
  EXPECT_EQ(object_of("{'data'", "sub_1", id), "[redacted]");
  EXPECT_EQ(object_of(R"({"data":{"id":"","n":1}})", "", id), "");
}

// Goal: credentials are never shown, and a compressed body is not if there are parts to hide.
TEST(Redact, HidesCredentialsAndCompressedBodies) {
  Response answered = answer("packed", "text/plain");
  answered.fields.push_back({.name = "set-cookie", .value = "s3cret"});
  answered.fields.push_back({.name = "X-Other", .value = "shown"});
  const IgnoreList list = *IgnoreList::parse({"/card"});
  EXPECT_EQ(written(answered, list).find("s3cret"), std::string::npos);
  EXPECT_NE(written(answered, list).find("shown"), std::string::npos);
  EXPECT_EQ(shown(answered, list).body, "packed");
  answered.fields.push_back({.name = "Content-Encoding", .value = "gzip"});
  EXPECT_TRUE(shown(answered, list).redacted);
  EXPECT_NE(shown(answered, list).body, "packed");
  EXPECT_EQ(shown(answered, {}).body, "packed");
}

}  // namespace
}  // namespace semel::admin
