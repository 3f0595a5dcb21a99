#include "webhook/json_items.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace semel::webhook {
namespace {

using Items = std::vector<std::string_view>;

policy::JsonMiss miss(std::string_view document, const std::vector<std::string>& pointer) {
  const auto items = json_items(document, pointer);
  EXPECT_FALSE(items) << document;
  return items ? policy::JsonMiss::ambiguous : items.error();
}

// Elements are given back byte by byte as they are written, whatever they hold.
TEST(JsonItems, AreTheElementsAsWritten) {
  const std::vector<std::string> root;
  EXPECT_EQ(json_items("[]", root).value(), Items{});
  EXPECT_EQ(json_items(" [ ] ", root).value(), Items{});
  EXPECT_EQ(json_items("[1]", root).value(), Items{"1"});
  EXPECT_EQ(json_items(" [ 1 , {\"a\" : [2, 3]} ,\"]\\\",\", null, [[]] , 1.50 ] ", root).value(),
            (Items{"1", "{\"a\" : [2, 3]}", "\"]\\\",\"", "null", "[[]]", "1.50"}));
}

// A pointer leads to the array through objects.
TEST(JsonItems, AreFoundByPointer) {
  const std::string_view document = R"({"x":"[","data":{"n":1,"events":[{"id":1},{"id":2}]},"y":[]})";
  EXPECT_EQ(json_items(document, std::vector<std::string>{"data", "events"}).value(),
            (Items{R"({"id":1})", R"({"id":2})"}));
  EXPECT_EQ(json_items(document, std::vector<std::string>{"y"}).value(), Items{});
}

// What is not there, is not an array, or could be meant twice is told apart.
TEST(JsonItems, TellWhyThereAreNone) {
  EXPECT_EQ(miss("{", {}), policy::JsonMiss::not_json);
  EXPECT_EQ(miss("[1,]", {}), policy::JsonMiss::not_json);
  EXPECT_EQ(miss("[1]x", {}), policy::JsonMiss::not_json);
  EXPECT_EQ(miss("", {}), policy::JsonMiss::not_json);
  EXPECT_EQ(miss("{}", {}), policy::JsonMiss::not_there);
  EXPECT_EQ(miss("1", {}), policy::JsonMiss::not_there);
  EXPECT_EQ(miss("{}", {"a"}), policy::JsonMiss::not_there);
  EXPECT_EQ(miss("[]", {"a"}), policy::JsonMiss::not_there);
  EXPECT_EQ(miss(R"({"a":{}})", {"a"}), policy::JsonMiss::not_there);
  EXPECT_EQ(miss(R"({"a":[1],"a":[2]})", {"a"}), policy::JsonMiss::ambiguous);
  EXPECT_EQ(miss(R"({"a":[1],"\u0061":[2]})", {"a"}), policy::JsonMiss::ambiguous);
}

}  // namespace
}  // namespace semel::webhook
