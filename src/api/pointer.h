// JSON pointers (RFC 6901) to members of a request.
#pragma once

#include <string>
#include <string_view>

namespace semel::api {

// The name of a member as part of a pointer. What is not ASCII is left out: a pointer goes into an answer and a log.
inline std::string escaped_token(std::string_view name) {
  std::string token;
  for (const char c : name.substr(0, 100)) {
    if (c == '~') {
      token += "~0";
    } else if (c == '/') {
      token += "~1";
    } else {
      token.push_back(c >= ' ' && c <= '~' ? c : '?');
    }
  }
  return token;
}

}  // namespace semel::api
