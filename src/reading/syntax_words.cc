// The parser says what it was doing and which byte it did not expect. People want to know what to write.
#include "reading/syntax_words.h"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace semel::reading {
namespace {

struct Translation {
  std::string_view doing;  // both are in the description
  std::string_view found;
  std::string_view words;
};

constexpr std::string_view no_number =
    "this is neither a number nor a date; a text stands in quotes, such as \"24h\" or \"127.0.0.1:8080\"";

constexpr std::string_view no_bool = "yes and no are written true and false, in small letters and without quotes";
constexpr std::string_view no_line =
    "a line is a table ([server]), a key with its value (threads = 2) or a comment behind #";
constexpr std::string_view no_name = "a name is missing here, or a dot is too many: [upstream.app]";

constexpr std::string_view brackets =
    "these brackets do not close; a table has one pair ([store]), one of several has two ([[route]])";

constexpr std::array translations{
    Translation{"parsing literal string", "control characters", "this string is not closed on its line"},
    Translation{"parsing literal string", "end-of-file", "this string is not closed"},
    Translation{"parsing string", "unescaped control characters", "this string is not closed on its line"},
    Translation{"parsing string", "end-of-file", "this string is not closed"},
    Translation{
        "parsing string", "unknown escape sequence",
        "in double quotes a backslash begins an escape; write the text in single quotes, or \\\\ for a backslash"},
    Translation{"parsing value", "could not determine value type",
                "this is no value; a text stands in straight quotes (\"like this\"); yes and no are true and false"},
    Translation{"parsing boolean", "", no_bool},
    Translation{"parsing root table", "expected keys", no_line},
    Translation{"parsing table header", "blank bare keys", no_name},
    Translation{"parsing key:", "expected bare key", no_name},
    Translation{"parsing decimal integer", "", no_number},
    Translation{"parsing floating-point", "", no_number},
    Translation{"parsing hexadecimal integer", "", no_number},
    Translation{"parsing octal integer", "", no_number},
    Translation{"parsing binary integer", "", no_number},
    Translation{"parsing time", "", no_number},
    Translation{"parsing date", "", no_number},
    Translation{"parsing key-value pair", "expected '=', saw ':'",
                "a key and its value are joined by =, not by a colon"},
    Translation{"parsing key-value pair", "expected value", "the value is missing; a key without one is left out"},
    Translation{"parsing key-value pair", "expected '='", "a key needs = and a value"},
    Translation{"parsing key-value pair", "cannot redefine", "this key is here for the second time"},
    Translation{"parsing key-value pair", "expected a comment or whitespace",
                "the line goes on behind its value; each key stands on a line of its own, without a comma"},
    Translation{"parsing table header", "cannot redefine", "this table is here for the second time"},
    Translation{"parsing table header", "", brackets},
    Translation{"parsing array", "end-of-file", "this list is not closed; a ] is missing"},
    Translation{"parsing array", "expected", "the values of a list are separated by commas, and a ] ends it"},
    Translation{"parsing inline table", "", "a table in braces stands on one line: { name = \"value\", other = 1 }"},
};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

std::string syntax_words(std::string_view description) {
  for (const Translation& one : translations) {
    if (!has(description, one.doing) || !has(description, one.found)) continue;
    const std::size_t saw = description.rfind("saw '");
    if (one.words != no_line || saw == std::string_view::npos) return std::string(one.words);
    return std::string(no_line) + "; it does not begin with " + std::string(description.substr(saw + 4));
  }
  return std::string(description);
}

}  // namespace semel::reading
