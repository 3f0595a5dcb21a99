// What differs between two requests under one key, as far as it is known.
#include "telemetry/shapes.h"

#include <string_view>

#include <gtest/gtest.h>

#include "core/shape.h"
#include <semel/fingerprint.h>

namespace semel::telemetry {
namespace {

core::Print print(std::string_view method, std::string_view target, std::string_view body) {
  return core::print({.method = method, .target = target, .body = body}, BodyForm::json, {});
}

// A shape is found by its fingerprint; of others nothing is known.
TEST(ShapesTest, FindsWhatWasPut) {
  Shapes shapes;
  const core::Print first = print("POST", "/a", "{}");
  EXPECT_EQ(shapes.find(first.fingerprint).bits, 0U);
  shapes.put(first.fingerprint, first.shape);
  EXPECT_EQ(shapes.find(first.fingerprint), first.shape);
  EXPECT_EQ(shapes.find(print("POST", "/b", "{}").fingerprint).bits, 0U);
}

// Every combination of method, target and body is told apart.
TEST(ShapesTest, TellsWhatDiffers) {
  const core::Shape first = print("POST", "/a", R"({"a":1})").shape;
  EXPECT_EQ(core::differing(first, print("PATCH", "/a", R"({"a":1})").shape), "method");
  EXPECT_EQ(core::differing(first, print("POST", "/a?x", R"({"a":1})").shape), "target");
  EXPECT_EQ(core::differing(first, print("POST", "/a", R"({"a":2})").shape), "body");
  EXPECT_EQ(core::differing(first, print("PATCH", "/b", R"({"a":1})").shape), "method, target");
  EXPECT_EQ(core::differing(first, print("PATCH", "/a", "").shape), "method, body");
  EXPECT_EQ(core::differing(first, print("POST", "/b", "x").shape), "target, body");
  EXPECT_EQ(core::differing(first, print("PUT", "/b", "x").shape), "method, target, body");
}

// What means the same has the same shape, and what is not known is not guessed.
TEST(ShapesTest, DoesNotGuess) {
  const core::Shape first = print("POST", "/a", R"({"a":1,"b":2})").shape;
  EXPECT_EQ(first, print("POST", "/a", R"({ "b": 2, "a": 1.0 })").shape);
  EXPECT_EQ(core::differing(first, first), "");
  EXPECT_EQ(core::differing(first, core::Shape{}), "");
  EXPECT_EQ(core::differing(core::Shape{}, first), "");
}

// The fingerprint is the one of the library.
TEST(ShapesTest, HasTheFingerprintOfTheLibrary) {
  const Request asked{.method = "POST", .target = "/a", .body = R"({"a":1})"};
  EXPECT_EQ(print("POST", "/a", R"({"a":1})").fingerprint, fingerprint(asked, BodyForm::json));
}

}  // namespace
}  // namespace semel::telemetry
