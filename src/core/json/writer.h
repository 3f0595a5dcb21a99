// Writes JSON, value by value, at the end of a string: the only place in the tree where JSON is made.
//
//   JsonWriter json(out);
//   json.begin_object().text("type", type).number("status", 409).boolean("held", false).end_object();
//
// The writer sees to commas and quotes. The caller sees to it that every object and array is ended, and that members
// have names. No white space is written, and nothing is allocated but room in the string.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace semel::core::json {

template <class Number>
concept WholeNumber = std::integral<Number> && !std::same_as<Number, bool>;

class JsonWriter {
 public:
  // Whatever `out` holds stays before the JSON. It must outlive the writer; others may add to it between two documents.
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& name(std::string_view name);  // of the member whose value comes next; UTF-8

  // A string of UTF-8. Only what must be escaped is escaped.
  JsonWriter& text(std::string_view value);
  // A string of any bytes, for what others sent: those that are not printable ASCII are written as \u00xx.
  JsonWriter& bytes(std::string_view value);
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

  // The same as members of an object.
  JsonWriter& text(std::string_view member, std::string_view value) { return name(member).text(value); }
  JsonWriter& bytes(std::string_view member, std::string_view value) { return name(member).bytes(value); }
  JsonWriter& hex(std::string_view member, std::span<const std::uint8_t> value) { return name(member).hex(value); }
  template <WholeNumber Number>
  JsonWriter& number(std::string_view member, Number value) {
    return name(member).number(value);
  }
  JsonWriter& thousandths(std::string_view member, std::uint64_t value) { return name(member).thousandths(value); }
  JsonWriter& decimal(std::string_view member, double value, int places) { return name(member).decimal(value, places); }
  JsonWriter& boolean(std::string_view member, bool value) { return name(member).boolean(value); }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  JsonWriter& whole(std::uint64_t value);
  JsonWriter& whole(std::int64_t value);
  void separate();

  std::string& out_;
  bool behind_value_ = false;  // what comes next needs a comma
};

}  // namespace semel::core::json
