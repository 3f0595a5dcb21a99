// What Prometheus reads must stay readable, whatever names there are.

#include "telemetry/exposition.h"

#include <gtest/gtest.h>

namespace semel::test {
namespace {

// A sample is one line; quotes and backslashes are escaped, and other control characters are of no use to anybody.
TEST(Exposition, KeepsALabelOnItsLine) {
  EXPECT_EQ(telemetry::label_text("mailer-1.eu"), "mailer-1.eu");
  EXPECT_EQ(telemetry::label_text("a\"b\\c"), "a\\\"b\\\\c");
  EXPECT_EQ(telemetry::label_text("a\nb\r\x1B[2J"), "a?b??[2J");
}

}  // namespace
}  // namespace semel::test
