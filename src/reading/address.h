// Where to listen and whom to call: `host:port` and `http://host:port`.
//
// Only the form is checked; no name is resolved.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "reading/fault.h"

namespace semel::reading {

struct Endpoint {
  std::string host;  // a name, an IPv4 address, or an IPv6 address without its brackets
  std::uint16_t port = 0;

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`. Port 0 lets the system choose.
Parsed<Endpoint> parse_endpoint(std::string_view text);
std::string endpoint_text(const Endpoint& endpoint);  // with the brackets
bool is_loopback(const Endpoint& endpoint);

// A name, an IPv4 address, or an IPv6 address in its brackets; the latter two are addresses.
bool is_host(std::string_view text);
bool is_address(std::string_view text);

struct Url {
  bool secure = false;  // https
  Endpoint authority;   // with the scheme's port where the text has none
  std::string path;     // as written; empty or beginning with a slash

  friend bool operator==(const Url&, const Url&) = default;
};

// `http://` or `https://`, a host, perhaps a port and a path. No user, query or fragment.
Parsed<Url> parse_url(std::string_view text);
std::string url_text(const Url& url);  // without the scheme's own port

// The Host field for requests to `url`: with the port only where it is not the scheme's own.
std::string host_field(const Url& url);

}  // namespace semel::reading
