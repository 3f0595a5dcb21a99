#include "admin/access.h"

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "admin/answers.h"
#include "admin/caller.h"
#include "admin/page.h"
#include "config/config.h"
#include "core/crypto.h"
#include "policy/request_view.h"
#include "reading/secret.h"
#include <semel/response.h>

namespace semel::admin {
namespace {

constexpr std::size_t name_bytes_max = 100;

// The first line of a field; empty if there is none.
std::string_view field_of(const policy::RequestView& request, std::string_view name) {
  const auto lines = policy::lines_of(request.fields, name);
  return lines.empty() ? std::string_view() : lines.front();
}

bool has_tokens(const config::AdminConfig& config) {
  return !config.token.empty() || !config.viewer.empty() || !config.operates.empty() || !config.admin.empty();
}

// All tokens are compared, so that the time tells nothing.
std::optional<Role> role_of(std::string_view given, const config::AdminConfig& config) {
  constexpr std::string_view scheme = "Bearer ";
  if (!given.starts_with(scheme)) return std::nullopt;
  given.remove_prefix(scheme.size());
  std::optional<Role> role;
  const auto compare = [&](const reading::Secret& token, Role its) {
    if (!token.empty() && core::equal_in_constant_time(given, token.reveal())) role = its;
  };
  compare(config.viewer, Role::viewer);
  compare(config.operates, Role::operates);
  compare(config.admin, Role::admin);
  compare(config.token, Role::admin);
  return role;
}

// Browsers say where a request comes from. Programs do not, and need the token anyway.
bool is_of_another_origin(const policy::RequestView& request) {
  const std::string_view site = field_of(request, "Sec-Fetch-Site");
  if (!site.empty() && site != "same-origin" && site != "none") return true;
  std::string_view origin = field_of(request, "Origin");
  if (origin.empty()) return false;
  const std::size_t slashes = origin.find("://");
  if (slashes != std::string_view::npos) origin.remove_prefix(slashes + 3);
  return origin != field_of(request, "Host");
}

Response unauthorized() {
  Response answer = error_answer(401, "send Authorization: Bearer TOKEN");
  answer.fields.push_back({.name = "WWW-Authenticate", .value = "Bearer realm=\"semel\""});
  return answer;
}

}  // namespace

std::expected<Caller, Response> admitted(Access access, const policy::RequestView& request,
                                         const config::AdminConfig& config) {
  Caller caller{.role = Role::viewer, .name = {}, .from = std::string(request.ip)};
  caller.name = field_of(request, "X-Semel-User").substr(0, name_bytes_max);
  if (access == Access::anyone) return caller;
  const bool safe = request.method == "GET" || request.method == "HEAD";
  if (!safe && is_of_another_origin(request)) {
    return std::unexpected(error_answer(403, "a page of another origin may not send this"));
  }
  if (!has_tokens(config)) {
    if (access == Access::reader) return caller;
    return std::unexpected(error_answer(403, "needs a token: set token or tokens in [admin]"));
  }
  const std::optional<Role> role = role_of(field_of(request, "Authorization"), config);
  if (!role) return std::unexpected(unauthorized());
  caller.role = *role;
  if (access == Access::changer && caller.role == Role::viewer) {
    return std::unexpected(error_answer(403, "needs the role operator; this token has the role viewer"));
  }
  return caller;
}

}  // namespace semel::admin
