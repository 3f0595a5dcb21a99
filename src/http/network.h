// Who counts as one when clients are counted by address.
#pragma once

#include <string>
#include <string_view>

namespace semel::http {

// An IPv4 address is itself, also if it is written as IPv6 (`::ffff:192.0.2.7`). Of an IPv6 address it is the network
// of the first 64 bits, because one machine has all addresses of it. Anything else is returned as it is.
std::string network_of(std::string_view address);

}  // namespace semel::http
