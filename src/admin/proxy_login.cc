#include "admin/proxy_login.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/caller.h"
#include "config/config.h"
#include "core/crypto.h"
#include "policy/request_view.h"
#include "reading/address_range.h"

namespace semel::admin {
namespace {

constexpr std::size_t user_bytes_max = 100;

// The only line of the field; none if there is none, or several.
std::optional<std::string_view> only_line(const policy::RequestView& request, std::string_view name) {
  const auto lines = policy::lines_of(request.fields, name);
  if (lines.size() != 1) return std::nullopt;
  return lines.front();
}

bool is_in(std::string_view group, const std::vector<std::string>& groups) {
  return std::ranges::find(groups, group) != groups.end();
}

// `groups` are separated by commas.
std::optional<Role> role_of(std::string_view groups, const config::AdminProxy& proxy) {
  std::optional<Role> role;
  while (!groups.empty()) {
    const std::size_t comma = std::min(groups.find(','), groups.size());
    std::string_view group = groups.substr(0, comma);
    groups.remove_prefix(std::min(comma + 1, groups.size()));
    while (group.starts_with(' ')) group.remove_prefix(1);
    while (group.ends_with(' ')) group.remove_suffix(1);
    std::optional<Role> its;
    if (is_in(group, proxy.viewer)) its = Role::viewer;
    if (is_in(group, proxy.operates)) its = Role::operates;
    if (is_in(group, proxy.admin)) its = Role::admin;
    if (its && (!role || *role < *its)) role = its;
  }
  return role;
}

}  // namespace

ProxyLogin login_by_proxy(const policy::RequestView& request, const config::AdminProxy& proxy) {
  const auto refused = [](std::string_view why) { return ProxyLogin{.trouble = why, .role = {}, .user = {}}; };
  const bool trusted =
      std::ranges::any_of(proxy.trusted, [&](const reading::AddressRange& range) { return range.holds(request.ip); });
  if (!trusted) return refused("send Authorization: Bearer TOKEN, or come through the proxy");
  const auto secret = only_line(request, proxy_secret_field);
  if (!secret || !core::equal_in_constant_time(*secret, proxy.secret.reveal())) {
    return refused("the proxy's X-Semel-Proxy-Secret is missing, wrong or sent twice");
  }
  const auto user = only_line(request, proxy.user);
  if (!user || user->empty() || user->size() > user_bytes_max) {
    return refused("the proxy's field with the user is missing, empty, too long or sent twice");
  }
  const auto lines = policy::lines_of(request.fields, proxy.groups);
  if (lines.size() > 1) return refused("the proxy's field with the groups is sent twice");
  const std::string_view groups = lines.empty() ? std::string_view() : lines.front();
  return {.trouble = {}, .role = role_of(groups, proxy), .user = std::string(*user)};
}

}  // namespace semel::admin
