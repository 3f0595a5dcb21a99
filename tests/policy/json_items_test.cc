#include "policy/json_items.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "policy/json_scalar.h"

namespace semel::policy {
namespace {

using Items = std::vector<std::string_view>;

auto items_of(std::string_view document, const std::vector<std::string>& pointer) {
  return json_items(document, pointer, 100);
}

JsonMiss miss(std::string_view document, const std::vector<std::string>& pointer) {
  const auto items = items_of(document, pointer);
  EXPECT_FALSE(items) << document;
  return items ? JsonMiss::ambiguous : items.error();
}

// Elements are given back byte by byte as they are written, whatever they hold.
TEST(JsonItems, AreTheElementsAsWritten) {
  const std::vector<std::string> root;
  EXPECT_EQ(items_of("[]", root).value(), Items{});
  EXPECT_EQ(items_of(" [ ] ", root).value(), Items{});
  EXPECT_EQ(items_of("[1]", root).value(), Items{"1"});
  EXPECT_EQ(items_of(" [ 1 , {\"a\" : [2, 3]} ,\"]\\\",\", null, [[]] , 1.50 ] ", root).value(),
            (Items{"1", "{\"a\" : [2, 3]}", "\"]\\\",\"", "null", "[[]]", "1.50"}));
}

// A list that is too long is not taken apart to its end, but it is seen to be too long, and that it is JSON.
TEST(JsonItems, EndBehindTheMost) {
  const std::vector<std::string> root;
  EXPECT_EQ(json_items("[1,2,3]", root, 3).value(), (Items{"1", "2", "3"}));
  EXPECT_EQ(json_items("[1,2,3,4,5]", root, 3).value(), (Items{"1", "2", "3", "4"}));
  EXPECT_FALSE(json_items("[1,2,3,4,5", root, 3));
}

// A pointer leads to the array through objects.
TEST(JsonItems, AreFoundByPointer) {
  const std::string_view document = R"({"x":"[","data":{"n":1,"events":[{"id":1},{"id":2}]},"y":[]})";
  EXPECT_EQ(items_of(document, std::vector<std::string>{"data", "events"}).value(),
            (Items{R"({"id":1})", R"({"id":2})"}));
  EXPECT_EQ(items_of(document, std::vector<std::string>{"y"}).value(), Items{});
}

// What is not there, is not an array, or could be meant twice is told apart.
TEST(JsonItems, TellWhyThereAreNone) {
  EXPECT_EQ(miss("{", {}), JsonMiss::not_json);
  EXPECT_EQ(miss("[1,]", {}), JsonMiss::not_json);
  EXPECT_EQ(miss("[1]x", {}), JsonMiss::not_json);
  EXPECT_EQ(miss("", {}), JsonMiss::not_json);
  EXPECT_EQ(miss("{}", {}), JsonMiss::not_there);
  EXPECT_EQ(miss("1", {}), JsonMiss::not_there);
  EXPECT_EQ(miss("{}", {"a"}), JsonMiss::not_there);
  EXPECT_EQ(miss("[]", {"a"}), JsonMiss::not_there);
  EXPECT_EQ(miss(R"({"a":{}})", {"a"}), JsonMiss::not_there);
  EXPECT_EQ(miss(R"({"a":[1],"a":[2]})", {"a"}), JsonMiss::ambiguous);
  EXPECT_EQ(miss(R"({"a":[1],"\u0061":[2]})", {"a"}), JsonMiss::ambiguous);
}

// What stands at a place is told from nothing, also where it is no scalar.
TEST(JsonPresences, TellWhatStandsThere) {
  const auto kind = [](std::string_view document, std::vector<std::string> pointer = {"a"}) {
    return json_presence(document, pointer);
  };
  EXPECT_EQ(kind("{}"), JsonPresence::absent);
  EXPECT_EQ(kind(R"({"b":{"a":1}})"), JsonPresence::absent);
  EXPECT_EQ(kind("[1]"), JsonPresence::absent);
  EXPECT_EQ(kind(R"({"a":null})"), JsonPresence::null);
  EXPECT_EQ(kind(R"({"a":""})"), JsonPresence::scalar);
  EXPECT_EQ(kind(R"({"\u0061":false})"), JsonPresence::scalar);
  EXPECT_EQ(kind(R"({"a":{}})"), JsonPresence::nested);
  EXPECT_EQ(kind(R"({"a":[1]})"), JsonPresence::nested);
  EXPECT_EQ(kind(R"({"x":[[{"a":1}]],"a":[{"a":null}]})"), JsonPresence::nested);
  EXPECT_EQ(kind(R"({"a":1,"a":1})"), JsonPresence::unclear);
  EXPECT_EQ(kind(R"({"a":1,"\u0061":{}})"), JsonPresence::unclear);
  EXPECT_EQ(kind("{"), JsonPresence::unclear);
  EXPECT_EQ(kind(R"({"a":{"b":[0,{"c":null}]}})", {"a", "b", "1", "c"}), JsonPresence::null);
  EXPECT_EQ(kind(R"({"a":{"b":[0,[]]}})", {"a", "b", "1"}), JsonPresence::nested);
}

}  // namespace
}  // namespace semel::policy
