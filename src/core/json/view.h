// JsonView: a value inside the text of a JSON document, without a tree and without a copy.
//
// A view is the place of a value in its text. It reads text that is known to be JSON (policy::is_json says so), so it
// has no errors of its own; of any other text it says something, but never reads beyond the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/function_ref.h"

namespace semel::core::json {

class JsonView {
 public:
  enum class Kind : std::uint8_t { null, boolean, number, string, object, array };

  // The first value in `text`.
  explicit JsonView(std::string_view text);

  [[nodiscard]] Kind kind() const;
  // The value as it is written, without white space around it.
  [[nodiscard]] std::string_view raw() const { return raw_; }

  // Of a string: its characters as UTF-8.
  [[nodiscard]] std::string text() const;
  // Of a number: null if it is written with a fraction or an exponent, or needs more than 64 bits.
  [[nodiscard]] std::optional<std::int64_t> whole() const;

  // Calls `take` for each member of an object in turn, or each element of an array, until it returns false.
  void members(FunctionRef<bool(std::string_view name, JsonView value)> take) const;
  void elements(FunctionRef<bool(JsonView value)> take) const;

 private:
  std::string_view raw_;
};

}  // namespace semel::core::json
