// Writes JSON, value by value, at the end of a string: the only place in the tree where JSON is made.
//
//   JsonWriter json(out);
//   json.begin_object().text("type", type).number("status", 409).boolean("held", false).end_object();
//
// The writer sees to commas and quotes. The caller sees to it that every object and array is ended, and that members
// have names. No white space is written, and nothing is allocated but room in the string.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace semel::core::json {

template <class Number>
concept WholeNumber = std::integral<Number> && !std::same_as<Number, bool>;

// The name of a member that is written in the code, with all that is around it: `,"name":"`. Made by the compiler,
// which refuses one that would have to be escaped.
class MemberName {
 public:
  template <std::size_t size>
  consteval MemberName(const char (&name)[size]) {
    static_assert(size + 4 <= room, "a longer name needs more room");
    put(',');
    put('"');
    for (const char c : std::string_view(name, size - 1)) {
      if (c < ' ' || c > '~' || c == '"' || c == '\\') throw "this name has to be escaped";
      put(c);
    }
    put('"');
    put(':');
    put('"');
  }

  [[nodiscard]] constexpr std::string_view before_string() const { return {text_.data(), size_}; }
  [[nodiscard]] constexpr std::string_view before_value() const { return {text_.data(), size_ - 1}; }

 private:
  static constexpr std::size_t room = 32;
  consteval void put(char c) { text_.at(size_++) = c; }

  std::array<char, room> text_{};
  std::size_t size_ = 0;
};

class JsonWriter {
 public:
  // Whatever `out` holds stays before the JSON. It must outlive the writer; others may add to it between two documents.
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  // Names the member whose value comes next: with a literal, or with any UTF-8.
  JsonWriter& name(const MemberName& member) {
    out_.append(with_comma(member.before_value()));
    behind_value_ = false;
    return *this;
  }
  JsonWriter& escaped_name(std::string_view name);

  // A string of UTF-8. Only what must be escaped is escaped.
  JsonWriter& text(std::string_view value);
  // A string of any bytes, for what others sent, in ASCII: characters of UTF-8 are escaped as themselves (\u00fc), so
  // nothing in them acts on a terminal, and any encoding of a database holds them; bytes that are no UTF-8, as \u00xx.
  JsonWriter& bytes(std::string_view value);
  // A string with a character for each byte, whatever they spell: its reader makes the same bytes of it.
  JsonWriter& latin_1(std::string_view value);
  JsonWriter& hex(std::span<const std::uint8_t> value);  // a string of lower case digits
  template <WholeNumber Number>
  JsonWriter& number(Number value) {
    if constexpr (std::signed_integral<Number>) {
      return whole(std::int64_t{value});
    } else {
      return whole(std::uint64_t{value});
    }
  }
  JsonWriter& thousandths(std::uint64_t value);   // 1234 is written as 1.234
  JsonWriter& decimal(double value, int places);  // null if it is not finite
  JsonWriter& boolean(bool value);
  JsonWriter& verbatim(std::string_view value) {  // a value that is JSON already
    separate();
    out_.append(value);
    return *this;
  }

  // The same as members of an object.
  JsonWriter& text(const MemberName& member, std::string_view value) {
    return put_text(with_comma(member.before_string()), value);
  }
  JsonWriter& bytes(const MemberName& member, std::string_view value) {
    return put_bytes(with_comma(member.before_string()), value);
  }
  JsonWriter& latin_1(const MemberName& member, std::string_view value) { return name(member).latin_1(value); }
  JsonWriter& hex(const MemberName& member, std::span<const std::uint8_t> value) { return name(member).hex(value); }
  template <WholeNumber Number>
  JsonWriter& number(const MemberName& member, Number value) {
    return name(member).number(value);
  }
  JsonWriter& thousandths(const MemberName& member, std::uint64_t value) { return name(member).thousandths(value); }
  JsonWriter& decimal(const MemberName& member, double value, int places) {
    return name(member).decimal(value, places);
  }
  JsonWriter& boolean(const MemberName& member, bool value) { return name(member).boolean(value); }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  JsonWriter& whole(std::uint64_t value);
  JsonWriter& whole(std::int64_t value);
  // `before` ends with the quote that the string begins with.
  JsonWriter& put_text(std::string_view before, std::string_view value);
  JsonWriter& put_bytes(std::string_view before, std::string_view value);
  // `text` begins with a comma, which goes if there is nothing before it.
  [[nodiscard]] std::string_view with_comma(std::string_view text) const { return text.substr(behind_value_ ? 0 : 1); }
  void separate();

  std::string& out_;
  bool behind_value_ = false;  // what comes next needs a comma
};

}  // namespace semel::core::json
