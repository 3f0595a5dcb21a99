#include "http/strict.h"

#include <optional>

#include <gtest/gtest.h>

namespace semel::http {
namespace {

// White space before a colon goes, wherever a field has it; all else stays byte for byte.
TEST(Repair, TakesAwayWhiteSpaceBeforeColons) {
  EXPECT_EQ(without_space_before_colons("HTTP/1.1 200 a : b\r\nX-A : b : c\r\nX-B\t \t: d\r\nX-C: e\r\n\r\n"),
            "HTTP/1.1 200 a : b\r\nX-A: b : c\r\nX-B: d\r\nX-C: e\r\n\r\n");
}

// Nothing to repair: the caller is told so, and does not parse it twice.
TEST(Repair, LeavesAloneWhatHasNone) {
  EXPECT_EQ(without_space_before_colons("HTTP/1.1 200 OK\r\nX-A: b\r\n\r\n"), std::nullopt);
  EXPECT_EQ(without_space_before_colons("HTTP/1.1 200 OK\r\n : b\r\n\r\n"), std::nullopt);
  EXPECT_EQ(without_space_before_colons("HTTP/1.1 200 OK\r\nX A: b\r\n\r\n"), std::nullopt);
}

// The first line decides, as soon as it is there.
TEST(BareLines, AreSeenInTheFirstLine) {
  EXPECT_TRUE(first_line_is_bare("GET / HTTP/1.1\nHost"));
  EXPECT_TRUE(first_line_is_bare("\n"));
  EXPECT_FALSE(first_line_is_bare("GET / HTTP/1.1\r\nHost: a\n"));
  EXPECT_FALSE(first_line_is_bare("GET / HTTP/1.1\r"));
}

}  // namespace
}  // namespace semel::http
