// Who is asking, by the word of a proxy that stands in front (admin.proxy).
//
// The proxy's fields are believed only from its addresses and with the secret that it shares with us: each alone could
// be had by others on its machine, or by a request that goes around it. A field that comes twice is not believed: one
// of the lines may be the client's own.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "admin/caller.h"
#include "config/config.h"
#include "policy/request_view.h"

namespace semel::admin {

inline constexpr std::string_view proxy_secret_field = "X-Semel-Proxy-Secret";

struct ProxyLogin {
  std::string_view trouble;  // why the fields are not believed; empty if they are
  std::optional<Role> role;  // the highest of the user's groups; none if no group has one
  std::string user;
};

ProxyLogin login_by_proxy(const policy::RequestView& request, const config::AdminProxy& proxy);

}  // namespace semel::admin
