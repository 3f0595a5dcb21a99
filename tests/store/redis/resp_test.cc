// The protocol as bytes: what a server sends is read the same however it is cut, and nothing else is taken for it.

#include "store/redis/resp.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace semel::store::redis {
namespace {

using Kind = RespValue::Kind;

// Recorded from redis-server 7.0.15: PING, an error, DBSIZE, GET of a text with CR LF and zero in it, GET of nothing,
// an empty text, TIME, LRANGE of nothing, COMMAND-like nesting, a null list, and a sharded message.
const std::string recorded(
    "+PONG\r\n-ERR unknown command 'X', with args beginning with: \r\n:1042\r\n$7\r\na\r\n\0b\r\n\r\n$-1\r\n$0\r\n\r\n"
    "*2\r\n$10\r\n1731850000\r\n$6\r\n123456\r\n*0\r\n*2\r\n*1\r\n:-7\r\n*2\r\n$-1\r\n+OK\r\n*-1\r\n"
    "*3\r\n$8\r\nsmessage\r\n$11\r\nsemel:{a}:e\r\n$0\r\n\r\n:0\r\n",
    243);

std::vector<RespValue> read_all(RespReader& reader) {
  std::vector<RespValue> values;
  for (;;) {
    auto next = reader.next();
    if (!next) throw std::runtime_error(next.error().detail);
    if (!*next) return values;
    values.push_back(**std::move(next));
  }
}

// Every cut of the recorded bytes into two or three pieces gives the same replies.
TEST(Resp, ReadsTheSameHoweverItIsCut) {
  RespReader whole;
  whole.feed(recorded);
  const std::vector<RespValue> expected = read_all(whole);
  ASSERT_EQ(expected.size(), 12U);
  EXPECT_EQ(expected[0], (RespValue{.kind = Kind::status, .text = "PONG"}));
  EXPECT_TRUE(expected[1].is_error("ERR"));
  EXPECT_EQ(expected[2].number, 1042);
  EXPECT_EQ(expected[3].text, std::string("a\r\n\0b\r\n", 7));
  EXPECT_EQ(expected[4].kind, Kind::nothing);
  EXPECT_EQ(expected[5], (RespValue{.kind = Kind::text}));
  EXPECT_EQ(expected[6].items.at(1).text, "123456");
  EXPECT_EQ(expected[8].items.at(0).items.at(0).number, -7);
  EXPECT_EQ(expected[10].items.at(1).text, "semel:{a}:e");
  for (std::size_t first = 0; first <= recorded.size(); ++first) {
    for (std::size_t second = first; second <= recorded.size(); second += 7) {
      RespReader reader;
      std::vector<RespValue> found;
      for (const auto& [from, to] :
           {std::pair(std::size_t{0}, first), std::pair(first, second), std::pair(second, recorded.size())}) {
        reader.feed(std::string_view(recorded).substr(from, to - from));
        for (RespValue& value : read_all(reader)) found.push_back(std::move(value));
      }
      ASSERT_EQ(found, expected) << first << " " << second;
    }
  }
}

// One byte at a time, and nothing is handed out before the last one.
TEST(Resp, HandsOutWhatIsWhole) {
  RespReader reader;
  const std::string text = "*2\r\n$3\r\nabc\r\n:5\r\n";
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    reader.feed(std::string_view(text).substr(i, 1));
    ASSERT_TRUE(read_all(reader).empty()) << i;
  }
  reader.feed("\n");
  EXPECT_EQ(read_all(reader).size(), 1U);
}

// What no server sends is refused, and not read as something else.
TEST(Resp, RefusesWhatIsNotResp) {
  for (const std::string_view wrong :
       {"HTTP/1.1 400 Bad Request\r\n", "$3\r\nabcd\r\n", "$-2\r\n", ":1a\r\n", ":\r\n", ":+1\r\n", ":01\r\n",
        ":-0\r\n", "*-2\r\n", ">-1\r\n", "+a\rb\r\n", "$536870913\r\n", "*1048577\r\n", ":99999999999999999999\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"}) {
    RespReader reader;
    reader.feed(wrong);
    EXPECT_FALSE(reader.next()) << wrong;
  }
}

// A command is its words with their lengths, whatever bytes they have.
TEST(Resp, WritesCommands) {
  std::string out;
  append_command(out, {"SET", "k", std::string_view("\r\n\0", 3)});
  EXPECT_EQ(out, std::string("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$3\r\n\r\n\0\r\n", 29));
}

}  // namespace
}  // namespace semel::store::redis
