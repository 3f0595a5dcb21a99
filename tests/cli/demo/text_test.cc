#include "cli/demo/text.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include <gtest/gtest.h>

namespace semel::cli {
namespace {

constexpr DemoPlace usual() {
  return {.program = "build/release/semel", .port = 8080, .admin_port = 9080, .api_port = 8081};
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

std::size_t widest(const std::string& text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    width = std::max(width, end - at);
    at = end + 1;
  }
  return width;
}

// Goal: lines that can be pasted, each whole and on a line of its own, in a terminal of the usual width.
TEST(DemoText, HasLinesToPasteThatFitATerminal) {
  EXPECT_EQ(count(demo_text(usual()), "\ncurl -i 127.0.0.1:8080/v1/payments "), 4U);
  EXPECT_EQ(count(demo_text_without(usual()), "\ncurl -i 127.0.0.1:8080/v1/payments "), 2U);
  EXPECT_LE(widest(demo_text(usual())), 80U);
  EXPECT_LE(widest(demo_text_without(usual())), 80U);
}

// Goal: the last line is a sentence, whatever the numbers.
TEST(DemoText, SaysHowItWent) {
  EXPECT_EQ(demo_farewell(1, 1), "1 request came, 1 payment was charged.\n");
  EXPECT_EQ(demo_farewell(25, 0), "25 requests came, 0 payments were charged.\n");
}

}  // namespace
}  // namespace semel::cli
