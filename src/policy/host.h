// The names that a listener answers to.
//
//   api.example.com         that name, whatever the port
//   api.example.com:8443    only with this port
//   *.example.com           every name below, not the name itself
//   192.0.2.7, [::1]        an address
//
// They are compared with the authority of a request: its Host field, or that of an absolute target. The case of letters
// does not matter; a dot at the end does. Nothing is resolved.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "reading/fault.h"

namespace semel::policy {

struct HostPattern {
  std::string host;  // an IPv6 address with its brackets; of `*.example.com` what names must end in: `.example.com`
  std::string port;  // empty: any
  bool below = false;

  [[nodiscard]] bool matches(std::string_view authority) const;
};

reading::Parsed<HostPattern> parse_host_pattern(std::string_view text);

// Whether one of them matches. With an empty list every authority is fine, and so is none.
bool answers_to(std::span<const HostPattern> hosts, std::string_view authority);

// An address, `localhost` or a name below it: only somebody on this machine can make these mean this machine. Any other
// name can be pointed here by its owner, and a browser then takes our pages for that owner's.
bool is_local(std::string_view authority);

}  // namespace semel::policy
