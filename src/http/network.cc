#include "http/network.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace semel::http {

std::string network_of(std::string_view address) {
  if (!address.contains(':')) return std::string(address);
  const std::string text(address.substr(0, address.find('%')));  // without the interface
  in6_addr bytes{};
  if (inet_pton(AF_INET6, text.c_str(), &bytes) != 1) return std::string(address);
  std::array<char, INET6_ADDRSTRLEN> out{};
  if (IN6_IS_ADDR_V4MAPPED(&bytes)) {
    inet_ntop(AF_INET, &bytes.s6_addr[12], out.data(), out.size());
    return out.data();
  }
  std::fill(std::begin(bytes.s6_addr) + 8, std::end(bytes.s6_addr), std::uint8_t{0});
  inet_ntop(AF_INET6, &bytes, out.data(), out.size());
  return std::string(out.data()).append("/64");
}

}  // namespace semel::http
