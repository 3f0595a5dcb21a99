// What is said of TOML that cannot be parsed.
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "reading/document.h"

namespace semel::reading {
namespace {

// Line, column and words.
std::string said_of(std::string_view text) {
  const auto parsed = parse_document(text);
  if (parsed) return "nothing";
  const SyntaxError& error = parsed.error();
  return fmt::format("{}:{}: {}", error.at.line, error.at.column, error.message);
}

// Goal: whoever writes as in another kind of file hears what to write here, and nothing of what the parser says to
// itself.
TEST(SyntaxWords, ExplainOtherDialects) {
  constexpr auto line = "a line is a table ([server]), a key with its value (threads = 2) or a comment behind #";
  constexpr auto boolean = "yes and no are written true and false, in small letters and without quotes";
  constexpr auto name = "a name is missing here, or a dot is too many: [upstream.app]";
  struct Case {
    std::string_view text;
    std::string said;
  };
  const std::vector<Case> cases{
      {"a = 'b\n", "1:7: this string is not closed on its line"},
      {"a = 'b", "1:7: this string is not closed"},
      {"// why\n", fmt::format("1:1: {}; it does not begin with '/'", line)},
      {"; why\n", fmt::format("1:1: {}; it does not begin with ';'", line)},
      {"{\n", fmt::format("1:1: {}; it does not begin with '{{'", line)},
      {"a = True\n", fmt::format("1:5: {}", boolean)},
      {"a = FALSE\n", fmt::format("1:5: {}", boolean)},
      {"a =\n", "1:4: the value is missing; a key without one is left out"},
      {"[]\n", fmt::format("1:2: {}", name)},
      {"[upstream.]\n", fmt::format("1:11: {}", name)},
      {"[server]]\n",
       "1:9: these brackets do not close; a table has one pair ([store]), one of several has two ([[route]])"},
      {"a = 0xZZ\n",
       "1:7: this is neither a number nor a date; a text stands in quotes, such as \"24h\" or \"127.0.0.1:8080\""},
  };
  for (const Case& each : cases) EXPECT_EQ(said_of(each.text), each.said) << each.text;
}

}  // namespace
}  // namespace semel::reading
