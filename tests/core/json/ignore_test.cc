// Members that may differ between retries are left out of the canonical form.
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/json/canonical.h"
#include <semel/fingerprint.h>

namespace semel::core::json {
namespace {

std::string without(const std::vector<std::string>& ignore, std::string_view body) {
  return canonical_json(body, *IgnoreList::parse(ignore)).value_or("nothing");
}

// A pointer removes the member it names, first, last, in between or alone, and nothing else.
TEST(IgnoredMembers, AreLeftOut) {
  EXPECT_EQ(without({"/a"}, R"({"a":1,"b":2,"c":3})"), R"({"b":2,"c":3})");
  EXPECT_EQ(without({"/b"}, R"({"a":1,"b":2,"c":3})"), R"({"a":1,"c":3})");
  EXPECT_EQ(without({"/c"}, R"({"a":1,"b":2,"c":3})"), R"({"a":1,"b":2})");
  EXPECT_EQ(without({"/b"}, R"({"c":3,"b":2,"a":1})"), R"({"a":1,"c":3})");
  EXPECT_EQ(without({"/a"}, R"({"a":1})"), "{}");
  EXPECT_EQ(without({"/a", "/b"}, R"({"b":1,"a":2})"), "{}");
  EXPECT_EQ(without({"/a"}, R"({"x":{"a":1}})"), R"({"x":{"a":1}})");
}

// A pointer that leads nowhere, through a scalar or to a member that is not there, changes nothing.
TEST(IgnoredMembers, MayBeAbsent) {
  EXPECT_EQ(without({"/x", "/a/x", "/a/x/y", "/b/0/c"}, R"({"b":[1],"a":5})"), R"({"a":5,"b":[1]})");
  EXPECT_EQ(without({"/a"}, "17"), "17");
  EXPECT_EQ(without({"/a"}, "[]"), "[]");
}

// Pointers reach into objects and arrays at any depth, and into what is sorted on the way out.
TEST(IgnoredMembers, AreFoundAtAnyDepth) {
  EXPECT_EQ(without({"/b/x/time"}, R"({"b":{"y":1,"x":{"v":1,"time":9}},"a":{"x":{"time":1}}})"),
            R"({"a":{"x":{"time":1}},"b":{"x":{"v":1},"y":1}})");
  EXPECT_EQ(without({"/items/1/at", "/items/2"}, R"({"items":[{"at":1},{"b":1,"at":2,"a":0},{"at":3},{"at":4}]})"),
            R"({"items":[{"at":1},{"a":0,"b":1},{"at":4}]})");
}

// An index counts the elements as they were sent: removing one does not shift the others.
TEST(IgnoredElements, CountAsTheyWereSent) {
  EXPECT_EQ(without({"/1"}, "[10,11,12,13]"), "[1e1,12,13]");
  EXPECT_EQ(without({"/0", "/1"}, "[10,11,12,13]"), "[12,13]");
  EXPECT_EQ(without({"/0", "/1", "/2"}, "[1,2,3]"), "[]");
  EXPECT_EQ(without({"/3"}, "[1,2,3]"), "[1,2,3]");
  EXPECT_EQ(without({"/0/0"}, "[[1,2],[1,2]]"), "[[2],[1,2]]");
  EXPECT_EQ(without({"/a/0", "/b/0", "/b/1"}, R"({"a":[1,2],"b":[1,2,3]})"), R"({"a":[2],"b":[3]})");
  EXPECT_EQ(without({"/11"}, "[0,1,2,3,4,5,6,7,8,9,0,11,12]"), "[0,1,2,3,4,5,6,7,8,9,0,12]");
}

// Of an array, `-` and numbers with leading zeros name no element (RFC 6901); of an object, they are names.
TEST(IgnoredElements, AreNamedByPlainNumbersOnly) {
  EXPECT_EQ(without({"/-", "/01", "/+1", "/1e0", "/ 1", "/"}, "[1,2]"), "[1,2]");
  EXPECT_EQ(without({"/-", "/01", "/"}, R"({"-":1,"01":2,"":3,"1":4})"), R"({"1":4})");
}

// Names are compared as decoded: it does not matter how the body or the pointer spells them.
TEST(IgnoredMembers, AreNamedByDecodedNames) {
  EXPECT_EQ(without({"/a~1b", "/m~0n"}, R"({"a/b":1,"a\/c":2,"m~n":3})"), R"({"a/c":2})");
  EXPECT_EQ(without({"/sent_at"}, R"({"\u0073ent_at":1,"x":1})"), R"({"x":1})");
  EXPECT_EQ(without({"/\"\\\n"}, R"({"\"\\\n":1,"x":1})"), R"({"x":1})");
  EXPECT_EQ(without({"/\\n"}, R"({"\n":1})"), R"({"\n":1})");
  EXPECT_EQ(without({"/\\n"}, R"({"\\n":1})"), "{}");
  EXPECT_EQ(without({"/é"}, R"({"\u00e9":1})"), "{}");
}

// What is ignored is read as strictly as the rest: a body on which parsers disagree has no canonical form.
TEST(IgnoredMembers, MustBeValidAllTheSame) {
  EXPECT_EQ(without({"/a"}, R"({"a":1,"a":2})"), "nothing");
  EXPECT_EQ(without({"/a"}, R"({"a":{"x":1,"x":2}})"), "nothing");
  EXPECT_EQ(without({"/a/x"}, R"({"a":{"x":1,"x":2}})"), "nothing");
  EXPECT_EQ(without({"/a"}, R"({"a":1e10000})"), "nothing");
  EXPECT_EQ(without({"/a"}, R"({"a":"\ud800"})"), "nothing");
  EXPECT_EQ(without({"/0"}, R"([{"x":1,"x":2}])"), "nothing");
}

// Pointers may overlap: one inside what another removes is of no consequence.
TEST(IgnoredMembers, MayOverlap) {
  EXPECT_EQ(without({"/a", "/a/b", "/a"}, R"({"c":0,"a":{"b":1,"d":2}})"), R"({"c":0})");
  EXPECT_EQ(without({"/a/b", "/a/d"}, R"({"c":0,"a":{"d":1,"b":2}})"), R"({"a":{},"c":0})");
}

}  // namespace
}  // namespace semel::core::json
