// What the writer writes is JSON, and says what it was told.
#include "core/json/writer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/utf8.h"

namespace semel::core::json {
namespace {

namespace boost_json = boost::json;

template <class Write>
std::string written(const Write& write) {
  std::string out;
  JsonWriter json(out);
  write(json);
  return out;
}

// Goal: the bytes are these and no others: programs and people read them.
TEST(JsonWriter, WritesObjectsArraysAndScalars) {
  const std::string text = written([](JsonWriter& json) {
    json.begin_object().text("type", "a\"b").number("status", 409).boolean("held", false).name("list").begin_array();
    json.number(1U).number(-2).text("three").boolean(true).begin_object().end_object().begin_array().end_array();
    json.end_array().decimal("ms", 1.5, 3).thousandths("seconds", 12'007).name("empty").begin_object().end_object();
    json.end_object();
  });
  EXPECT_EQ(text, R"({"type":"a\"b","status":409,"held":false,"list":[1,-2,"three",true,{},[]],"ms":1.500,)"
                  R"("seconds":12.007,"empty":{}})");
}

// Goal: what is in the string before stays there, and a second document is no continuation of the first.
TEST(JsonWriter, AddsToAString) {
  std::string out = "line 1\n";
  JsonWriter(out).begin_array().number(1).end_array();
  out.push_back('\n');
  JsonWriter(out).begin_array().number(2).end_array();
  EXPECT_EQ(out, "line 1\n[1]\n[2]");
}

// Goal: a text is escaped as little as JSON allows; bytes are escaped until only printable ASCII is left.
TEST(JsonWriter, EscapesTextAndBytes) {
  const std::string_view odd("\"\\/\b\f\n\r\t\x01\x1f\x7f\xc3\xa9", 13);
  EXPECT_EQ(written([&](JsonWriter& json) { json.text(odd); }),
            "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\xc3\xa9\"");
  EXPECT_EQ(written([&](JsonWriter& json) { json.bytes(odd); }),
            R"("\"\\/\u0008\u000c\u000a\u000d\u0009\u0001\u001f\u007f\u00e9")");
  EXPECT_EQ(written([&](JsonWriter& json) { json.latin_1(odd); }),
            R"("\"\\/\u0008\u000c\u000a\u000d\u0009\u0001\u001f\u007f\u00c3\u00a9")");
  EXPECT_EQ(written([&](JsonWriter& json) { json.bytes("nothing odd ~ here"); }), R"("nothing odd ~ here")");
  const std::vector<std::uint8_t> digest{0x00, 0x9f, 0xa0, 0xff};
  EXPECT_EQ(written([&](JsonWriter& json) { json.hex(digest); }), R"("009fa0ff")");
}

// Goal: characters of any length are escaped as themselves, and bytes that are none, one by one.
TEST(JsonWriter, EscapesCharacters) {
  const auto bytes = [](std::string_view text) { return written([&](JsonWriter& json) { json.bytes(text); }); };
  EXPECT_EQ(bytes("f\u00fcr \u6f22\U0001f600!"), R"("f\u00fcr \u6f22\ud83d\ude00!")");
  EXPECT_EQ(bytes("\u202e\u0085\U0010ffff"), R"("\u202e\u0085\udbff\udfff")");
  EXPECT_EQ(bytes("\xc3(\xff\xe6\xbc"), R"("\u00c3(\u00ff\u00e6\u00bc")");
}

// Goal: an odd byte is found at any place: eight are looked at together, and the last few by themselves.
TEST(JsonWriter, EscapesAtEveryPlace) {
  for (const char odd : {'"', '\\', '\n', '\x1f', '\x7f', '\x80'}) {
    for (std::size_t size = 1; size < 20; ++size) {
      for (std::size_t at = 0; at < size; ++at) {
        std::string text(size, 'a');
        text[at] = odd;
        const std::string bytes = written([&](JsonWriter& json) { json.bytes(text); });
        EXPECT_GT(bytes.size(), size + 2) << static_cast<int>(odd) << " at " << at << " of " << size;
        const bool as_it_is = odd == '\x7f' || odd == '\x80';
        const std::string spelled = written([&](JsonWriter& json) { json.text(text); });
        EXPECT_EQ(spelled.size() == size + 2, as_it_is) << static_cast<int>(odd) << " at " << at << " of " << size;
      }
    }
  }
}

// Goal: numbers at the ends of their ranges; what JSON has no number for is null.
TEST(JsonWriter, WritesNumbersOfEverySize) {
  const std::string text = written([](JsonWriter& json) {
    json.begin_array();
    json.number(std::numeric_limits<std::int64_t>::min()).number(std::numeric_limits<std::uint64_t>::max());
    json.number(std::uint16_t{0}).number(std::int8_t{-1});
    json.thousandths(0).thousandths(9).thousandths(99).thousandths(999).thousandths(1'000);
    json.decimal(0.0005, 3).decimal(-1.25, 1).decimal(std::nan(""), 3).decimal(HUGE_VAL, 0);
    json.end_array();
  });
  EXPECT_EQ(text,
            "[-9223372036854775808,18446744073709551615,0,-1,0.000,0.009,0.099,0.999,1.000,0.001,-1.2,null,null]");
  EXPECT_EQ(written([](JsonWriter& json) { json.decimal(std::numeric_limits<double>::max(), 2); }).size(), 312U);
}

// A document of all that the writer can write, and what a reader must find in it.
boost_json::value any_document(JsonWriter& json, int depth);

std::string any_utf8() {
  std::string text;
  for (const char32_t code : *rc::gen::container<std::u32string>(rc::gen::arbitrary<char32_t>())) {
    const char32_t point = code % 0x11'0000;
    const bool surrogate = point >= 0xd800 && point < 0xe000;
    if (surrogate) continue;
    if (point < 0x80) {
      text.push_back(static_cast<char>(point));
    } else if (point < 0x800) {
      text.append({static_cast<char>(0xc0U | (point >> 6U)), static_cast<char>(0x80U | (point & 0x3fU))});
    } else if (point < 0x1'0000) {
      text.append({static_cast<char>(0xe0U | (point >> 12U)), static_cast<char>(0x80U | ((point >> 6U) & 0x3fU)),
                   static_cast<char>(0x80U | (point & 0x3fU))});
    } else {
      text.append({static_cast<char>(0xf0U | (point >> 18U)), static_cast<char>(0x80U | ((point >> 12U) & 0x3fU)),
                   static_cast<char>(0x80U | ((point >> 6U) & 0x3fU)), static_cast<char>(0x80U | (point & 0x3fU))});
    }
  }
  return text;
}

// Characters as they are, and each byte that belongs to none as the character of its number.
std::string as_characters(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t size = utf8_character_size(bytes);
    if (size > 0) {
      text.append(bytes.substr(0, size));
    } else {
      const auto byte = static_cast<unsigned char>(bytes.front());
      text.append({static_cast<char>(0xc0U | (byte >> 6U)), static_cast<char>(0x80U | (byte & 0x3fU))});
    }
    bytes.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return text;
}

boost_json::array any_array(JsonWriter& json, int depth) {
  boost_json::array read;
  json.begin_array();
  for (int size = *rc::gen::inRange(0, 5); size > 0; --size) read.push_back(any_document(json, depth + 1));
  json.end_array();
  return read;
}

boost_json::object any_object(JsonWriter& json, int depth) {
  boost_json::object read;
  json.begin_object();
  for (int size = *rc::gen::inRange(0, 5); size > 0; --size) {
    const std::string name = any_utf8();
    if (read.contains(name)) continue;
    json.escaped_name(name);
    read.emplace(name, any_document(json, depth + 1));
  }
  json.end_object();
  return read;
}

boost_json::value any_document(JsonWriter& json, int depth) {
  switch (*rc::gen::inRange(0, depth < 4 ? 8 : 6)) {
    case 0: {
      const std::string text = any_utf8();
      json.text(text);
      return boost_json::string(text);
    }
    case 1: {
      const auto bytes = *rc::gen::arbitrary<std::string>();
      json.bytes(bytes);
      return boost_json::string(as_characters(bytes));
    }
    case 2: {
      const auto number = *rc::gen::arbitrary<std::int64_t>();
      json.number(number);
      return number;
    }
    case 3: {
      const auto number = *rc::gen::arbitrary<std::uint64_t>() | (std::uint64_t{1} << 63U);  // or it is read as signed
      json.number(number);
      return number;
    }
    case 4: {
      const bool truth = *rc::gen::arbitrary<bool>();
      json.boolean(truth);
      return truth;
    }
    case 5: {
      const auto thousandths = *rc::gen::inRange<std::uint64_t>(0, 1'000'000'000);
      json.thousandths(thousandths);
      return static_cast<double>(thousandths) / 1000;
    }
    case 6:
      return any_array(json, depth);
    default:
      return any_object(json, depth);
  }
}

bool equal(const boost_json::value& read, const boost_json::value& meant);

bool equal_members(const boost_json::object& read, const boost_json::object& meant) {
  if (read.size() != meant.size()) return false;
  for (const auto& [name, value] : meant) {
    if (!read.contains(name) || !equal(read.at(name), value)) return false;
  }
  return true;
}

bool equal(const boost_json::value& read, const boost_json::value& meant) {
  if (read.kind() != meant.kind()) return false;
  if (read.is_double()) return std::abs(read.as_double() - meant.as_double()) < 1e-6;  // Boost's reader is not exact
  if (read.is_object()) return equal_members(read.as_object(), meant.as_object());
  if (!read.is_array()) return read == meant;
  if (read.as_array().size() != meant.as_array().size()) return false;
  for (std::size_t i = 0; i < read.as_array().size(); ++i) {
    if (!equal(read.as_array().at(i), meant.as_array().at(i))) return false;
  }
  return true;
}

// Goal: whatever is written, another program's reader takes it, and reads what was meant.
RC_GTEST_PROP(JsonWriter, IsReadBackAsWhatWasMeant, ()) {
  std::string out;
  JsonWriter json(out);
  const boost_json::value meant = any_document(json, 0);
  RC_LOG() << out << "\n";
  boost_json::error_code broken;
  const boost_json::value read = boost_json::parse(out, broken);
  RC_ASSERT(!broken);
  RC_ASSERT(equal(read, meant));
}

}  // namespace
}  // namespace semel::core::json
