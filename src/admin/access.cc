// First where a request comes from, then whose it is (by a token, a cookie or the word of a proxy), then whether that
// suffices.
#include "admin/access.h"

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "admin/answers.h"
#include "admin/caller.h"
#include "admin/page.h"
#include "admin/proxy_login.h"
#include "admin/sign_in.h"
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

bool is_safe(const policy::RequestView& request) {
  return request.method == "GET" || request.method == "HEAD";
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

// Whether a browser says that a page of another origin asks. Programs do not say where they are, and need the token.
bool is_of_another_site(const policy::RequestView& request) {
  const std::string_view site = field_of(request, "Sec-Fetch-Site");
  return !site.empty() && site != "same-origin" && site != "none";
}

bool is_of_another_origin(const policy::RequestView& request) {
  if (is_of_another_site(request)) return true;
  // No script can say so. Behind a proxy the Host field may be another one than the browser's.
  if (field_of(request, "Sec-Fetch-Site") == "same-origin") return false;
  std::string_view origin = field_of(request, "Origin");
  if (origin.empty()) return false;
  const std::size_t slashes = origin.find("://");
  if (slashes != std::string_view::npos) origin.remove_prefix(slashes + 3);
  return origin != field_of(request, "Host");
}

// A browser that a proxy has let in sends its cookie with any page's request. What only a script of our own origin, or
// a program, can send is a proof that it is none of those.
bool is_of_same_origin(const policy::RequestView& request) {
  return field_of(request, "X-Semel") == "1" || field_of(request, "Sec-Fetch-Site") == "same-origin" ||
         !field_of(request, "Origin").empty();  // which has been compared
}

Response unauthorized(std::string_view detail) {
  Response answer = error_answer(401, detail);
  answer.fields.push_back({.name = "WWW-Authenticate", .value = "Bearer realm=\"semel\""});
  return answer;
}

constexpr std::string_view not_read = "a page of another origin may not read this";

// What a cookie does not suffice for. Reading by a page of another origin would leave an entry in the audit log.
std::string_view not_for_a_cookie(const policy::RequestView& request) {
  if (!is_safe(request)) return not_of_our_page(request);
  return is_of_another_origin(request) ? not_read : std::string_view();
}

// Whose a request is.
struct Recognized {
  Role role = Role::viewer;
  std::optional<std::string> name;  // null if the caller's own word counts
  std::string_view by;
};

std::expected<Recognized, Response> known_by_proxy(const policy::RequestView& request,
                                                   const config::AdminProxy& proxy) {
  ProxyLogin login = login_by_proxy(request, proxy);
  if (!login.trouble.empty()) return std::unexpected(unauthorized(login.trouble));
  if (!login.role) return std::unexpected(error_answer(403, "needs the role viewer; no group of the user has a role"));
  if (!is_safe(request) && !is_of_same_origin(request)) {
    return std::unexpected(error_answer(403, "say that it is no other page's: X-Semel: 1, or the same origin"));
  }
  if (is_of_another_site(request)) return std::unexpected(error_answer(403, not_read));
  return Recognized{.role = *login.role, .name = std::move(login.user), .by = "proxy"};
}

std::expected<Recognized, Response> known_by(const policy::RequestView& request, const config::AdminConfig& config,
                                             const Sessions& sessions) {
  const std::string_view authorization = field_of(request, "Authorization");
  if (authorization.empty() && sessions.sign_ins != nullptr) {
    if (auto session = sessions.sign_ins->of(request, sessions.now, config)) {
      const std::string_view why = not_for_a_cookie(request);
      if (!why.empty()) return std::unexpected(error_answer(403, why));
      return Recognized{.role = session->role, .name = std::move(session->name), .by = "cookie"};
    }
  }
  if (authorization.empty() && config.proxy) return known_by_proxy(request, *config.proxy);
  const std::optional<Role> role = role_of(authorization, config);
  if (!role) return std::unexpected(unauthorized("send Authorization: Bearer TOKEN"));
  return Recognized{.role = *role, .name = std::nullopt, .by = "token"};
}

}  // namespace

bool knows_anybody(const config::AdminConfig& config) {
  return config.proxy || !config.token.empty() || !config.viewer.empty() || !config.operates.empty() ||
         !config.admin.empty();
}

std::string_view not_of_our_page(const policy::RequestView& request) {
  if (is_of_another_origin(request)) return "a page of another origin may not send this";
  if (field_of(request, "Sec-Fetch-Site") != "same-origin" && field_of(request, "Origin").empty()) {
    return "with a cookie, Sec-Fetch-Site or Origin must say that our own page sent this; programs send a token";
  }
  if (policy::media_type_of(request) != "application/json") return "with a cookie, Content-Type: application/json";
  if (field_of(request, "X-Semel") != "1") return "with a cookie, X-Semel: 1 is needed";
  return {};
}

std::expected<Caller, Response> admitted(Access access, const policy::RequestView& request,
                                         const config::AdminConfig& config, const Sessions& sessions) {
  Caller caller{.role = Role::viewer, .name = {}, .from = std::string(request.ip)};
  caller.name = field_of(request, "X-Semel-User").substr(0, name_bytes_max);
  if (access == Access::anyone) return caller;
  if (!is_safe(request) && is_of_another_origin(request)) {
    return std::unexpected(error_answer(403, "a page of another origin may not send this"));
  }
  if (!knows_anybody(config)) {
    if (access == Access::reader) return caller;
    return std::unexpected(error_answer(403, "needs a token: set token or tokens in [admin]"));
  }
  std::expected<Recognized, Response> known = known_by(request, config, sessions);
  if (!known) return std::unexpected(std::move(known.error()));
  caller.role = known->role;
  if (known->name) caller.name = *std::move(known->name);
  caller.known_by = known->by;
  if (access == Access::changer && caller.role == Role::viewer) {
    return std::unexpected(error_answer(403, "needs the role operator; this caller has the role viewer"));
  }
  return caller;
}

}  // namespace semel::admin
