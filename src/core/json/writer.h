// Writes JSON, value by value, at the end of a string: the only place in the tree where JSON is made.
//
//   Writer json(out);
//   json.begin_object().text("type", type).number("status", 409).boolean("held", false).end_object();
//
// Commas and quotes are the writer's; that every object and array is ended, and that members have names, is the
// caller's. No white space is written, and nothing is allocated but room in the string.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace semel::core::json {

template <class Number>
concept WholeNumber = std::integral<Number> && !std::same_as<Number, bool>;

class Writer {
 public:
  // Whatever `out` holds stays before the JSON. It must outlive the writer; others may add to it between two documents.
  explicit Writer(std::string& out) : out_(out) {}

  Writer& begin_object() { return open('{'); }
  Writer& end_object() { return close('}'); }
  Writer& begin_array() { return open('['); }
  Writer& end_array() { return close(']'); }
  Writer& name(std::string_view name);  // of the member whose value comes next; UTF-8

  // A string of UTF-8. What must be escaped is; all else is written as it is.
  Writer& text(std::string_view value);
  // A string of any bytes, for what others sent: those that are not printable ASCII are written as \u00xx.
  Writer& bytes(std::string_view value);
  Writer& hex(std::span<const std::uint8_t> value);  // a string of lower case digits
  template <WholeNumber Number>
  Writer& number(Number value) {
    if constexpr (std::signed_integral<Number>) {
      return whole(std::int64_t{value});
    } else {
      return whole(std::uint64_t{value});
    }
  }
  Writer& thousandths(std::uint64_t value);   // 1234 is written as 1.234
  Writer& decimal(double value, int places);  // null if it is not finite
  Writer& boolean(bool value);

  // The same as members of an object.
  Writer& text(std::string_view member, std::string_view value) { return name(member).text(value); }
  Writer& bytes(std::string_view member, std::string_view value) { return name(member).bytes(value); }
  Writer& hex(std::string_view member, std::span<const std::uint8_t> value) { return name(member).hex(value); }
  template <WholeNumber Number>
  Writer& number(std::string_view member, Number value) {
    return name(member).number(value);
  }
  Writer& thousandths(std::string_view member, std::uint64_t value) { return name(member).thousandths(value); }
  Writer& decimal(std::string_view member, double value, int places) { return name(member).decimal(value, places); }
  Writer& boolean(std::string_view member, bool value) { return name(member).boolean(value); }

 private:
  Writer& open(char bracket);
  Writer& close(char bracket);
  Writer& whole(std::uint64_t value);
  Writer& whole(std::int64_t value);
  void separate();

  std::string& out_;
  bool behind_value_ = false;  // what comes next needs a comma
};

}  // namespace semel::core::json
