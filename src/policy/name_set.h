// A few names of fields, found without regard to case. Most names that are looked up are not among them, and their
// length alone shows it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/ascii.h"

namespace semel::policy {

template <std::size_t count>
class NameSet {
 public:
  template <class... Name>
  consteval explicit NameSet(Name... names) : names_{names...} {
    for (const std::string_view name : names_) lengths_ |= bit(name.size());
  }

  [[nodiscard]] constexpr bool contains(std::string_view name) const {
    if ((lengths_ & bit(name.size())) == 0) return false;
    return std::ranges::any_of(names_, [&](std::string_view one) { return core::equal_ignoring_case(one, name); });
  }

 private:
  static constexpr std::uint64_t bit(std::size_t length) { return std::uint64_t{1} << (length % 64); }

  std::array<std::string_view, count> names_;
  std::uint64_t lengths_ = 0;
};
template <class... Name>
NameSet(Name...) -> NameSet<sizeof...(Name)>;

}  // namespace semel::policy
