// Addresses that a file names: one, or all that begin alike.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "reading/fault.h"

namespace semel::reading {

class AddressRange {
 public:
  // `10.0.0.5`, `10.0.0.0/8`, `::1`, `fd00::/8`. Bits behind the prefix must be zero: otherwise it is not clear what is
  // meant.
  static Parsed<AddressRange> parse(std::string_view text);

  // An address as a socket tells it. An IPv4 address is the same in the form that IPv6 has for it.
  [[nodiscard]] bool holds(std::string_view address) const;

 private:
  std::array<std::uint8_t, 16> bytes_{};
  std::size_t bits_ = 128;
};

}  // namespace semel::reading
