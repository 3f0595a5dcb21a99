// Who calls the operators' listener, and what that lets them do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace semel::admin {

enum class Role : std::uint8_t {
  viewer,    // sees keys and lists
  operates,  // also reads stored answers, and settles and reopens keys
  admin,     // everything
};

inline std::string_view name_of(Role role) {
  if (role == Role::viewer) return "viewer";
  return role == Role::operates ? "operator" : "admin";
}

struct Caller {
  Role role = Role::viewer;
  std::string name;                       // for the audit log: what a proxy vouches for, or what the caller says
  std::string_view known_by = "nothing";  // "token", "cookie", "proxy"
  std::string from;                       // the address
};

}  // namespace semel::admin
