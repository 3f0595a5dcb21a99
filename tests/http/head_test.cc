#include "http/head.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "core/field_view.h"

namespace semel::http {
namespace {

// Views into a head stay right however often its buffer has to grow, and an empty value is one.
TEST(Head, KeepsItsPartsWhileItGrows) {
  Head head;
  head.set_request("POST", "/v1/charges?" + std::string(500, 'q'));
  for (int i = 0; i < 200; ++i) {
    head.add("Field-" + std::to_string(i), i % 10 == 0 ? std::string() : std::string(static_cast<std::size_t>(i), 'v'));
  }
  EXPECT_EQ(head.method(), "POST");
  EXPECT_EQ(head.target(), "/v1/charges?" + std::string(500, 'q'));
  ASSERT_EQ(head.fields().size(), 200U);
  for (int i = 0; i < 200; ++i) {
    const FieldView& field = head.fields()[static_cast<std::size_t>(i)];
    EXPECT_EQ(field.name, "Field-" + std::to_string(i));
    EXPECT_EQ(field.value.size(), i % 10 == 0 ? 0U : static_cast<std::size_t>(i));
    EXPECT_EQ(field.value.find_first_not_of('v'), std::string_view::npos);
  }
  EXPECT_EQ(head.find("fIELD-7"), "vvvvvvv");
}

// A head that is used again knows nothing of the message before.
TEST(Head, ForgetsAllWhenCleared) {
  Head head;
  head.set_request("GET", "/");
  head.add("Host", "a");
  head.clear();
  EXPECT_EQ(head.method(), "");
  EXPECT_EQ(head.target(), "");
  EXPECT_TRUE(head.fields().empty());
  EXPECT_FALSE(head.find("Host"));
}

}  // namespace
}  // namespace semel::http
