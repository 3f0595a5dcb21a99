// A Secret is text that no log, error message or dump may show.
//
// It has no stream operator and its formatter writes "[secret]"; the text is read with reveal(), which is easy to
// search for.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace semel::reading {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}

  [[nodiscard]] const std::string& reveal() const { return text_; }
  [[nodiscard]] bool empty() const { return text_.empty(); }

  friend bool operator==(const Secret&, const Secret&) = default;

 private:
  std::string text_;
};

}  // namespace semel::reading

template <>
struct fmt::formatter<semel::reading::Secret> : fmt::formatter<std::string_view> {
  auto format(const semel::reading::Secret& /*secret*/, fmt::format_context& context) const {
    return fmt::formatter<std::string_view>::format("[secret]", context);
  }
};
