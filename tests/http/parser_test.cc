// What a parser takes does not depend on the pieces in which a message comes.
#include "http/parser.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "http/failure.h"
#include "http/head.h"

namespace semel::http {
namespace {

constexpr ParserLimits limits{.head_bytes = 200, .target_bytes = 60, .line_bytes = 150, .fields = 5};

// How the reading of a head ends that comes in pieces of `step` bytes, the first of `first`; nothing: it is taken.
std::optional<Failure> end_of(std::string_view input, std::size_t first, std::size_t step) {
  Head head;
  RequestParser parser(head, limits);
  std::string unread;
  for (std::size_t size = first; !parser.head_done(); size = step) {
    EXPECT_FALSE(input.empty()) << "it neither ends nor is refused";
    if (input.empty()) return Failure::closed;
    unread.append(input.substr(0, size));
    input.remove_prefix(std::min(size, input.size()));
    const Try<std::size_t> taken = parser.read_head(unread);
    if (!taken) return taken.error();
    unread.erase(0, *taken);
  }
  return std::nullopt;
}

void expect_always(std::string_view input, std::optional<Failure> end) {
  for (std::size_t first = 1; first <= input.size(); ++first) {
    EXPECT_EQ(end_of(input, first, input.size()), end) << "cut at " << first;
    EXPECT_EQ(end_of(input, first, 1), end) << "byte by byte behind " << first;
  }
}

// A head of so many bytes, with a line of a request that is itself of some length.
std::string head_of(std::size_t size) {
  std::string head = "POST /some/path/that/is/long HTTP/1.1\r\nHost: a\r\nX: ";
  head.append(size - head.size() - 4, 'x');
  return head.append("\r\n\r\n");
}

// Goal: a head of exactly as many bytes as are allowed is taken, and one of a byte more is not, however it is cut.
TEST(Parser, CountsAllOfAHead) {
  expect_always(head_of(limits.head_bytes), std::nullopt);
  expect_always(head_of(limits.head_bytes + 1), Failure::too_large);
  expect_always(head_of(limits.head_bytes + 25), Failure::too_large);
}

// Goal: what follows a head is not counted as part of it.
TEST(Parser, CountsNothingBehindAHead) {
  expect_always(head_of(limits.head_bytes) + std::string(100, 'b'), std::nullopt);
}

// Goal: whoever sends too long a target is told that, and whoever sends too many fields is told that.
TEST(Parser, TellsALongTargetFromALongHead) {
  const std::string target(limits.target_bytes + 1, 'a');
  expect_always("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n", Failure::long_target);
  expect_always("GET " + target + target + target + target + " HTTP/1.1\r\nHost: a\r\n\r\n", Failure::long_target);
  expect_always("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(300, 'x') + "\r\n\r\n", Failure::too_large);
}

// Whether a chunked body is refused that comes in one piece.
bool is_refused(std::string_view chunks) {
  Head head;
  RequestParser parser(head, limits);
  const std::string input =
      std::string("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n").append(chunks);
  const Try<std::size_t> taken = parser.read_head(input);
  EXPECT_TRUE(taken);
  std::string_view rest = std::string_view(input).substr(taken.value_or(0));
  while (!parser.done()) {
    const auto piece = parser.read_body(rest);
    if (!piece) return true;
    EXPECT_GT(piece->consumed, 0U) << "it neither ends nor is refused";
    if (piece->consumed == 0) break;
    rest.remove_prefix(piece->consumed);
  }
  return false;
}

// Goal: a size of a chunk is followed by its end or by a semicolon, and by nothing that another parser may skip.
TEST(Parser, TakesNoSpaceBehindTheSizeOfAChunk) {
  EXPECT_FALSE(is_refused("2;a\r\nab\r\n0\r\n\r\n"));
  EXPECT_TRUE(is_refused("2 ;a\r\nab\r\n0\r\n\r\n"));
  EXPECT_TRUE(is_refused("2\r\nab\r\n0\t;a\r\n\r\n"));
}

// Goal: an extension ends where its line ends, also for those who know nothing of quotes.
TEST(Parser, TakesNoLineFeedInAnExtension) {
  EXPECT_FALSE(is_refused("2;a=\"b\\\"\tc\"\r\nab\r\n0\r\n\r\n"));
  EXPECT_TRUE(is_refused("2;a=\"\nb\"\r\nab\r\n0\r\n\r\n"));
  EXPECT_TRUE(is_refused("2;a=\"\rb\"\r\nab\r\n0\r\n\r\n"));
  EXPECT_TRUE(is_refused("2;a=\"\\\n\"\r\nab\r\n0\r\n\r\n"));
}

}  // namespace
}  // namespace semel::http
