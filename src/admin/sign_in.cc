// Signing and reading the cookie. Whatever is not exactly what was signed is nobody's.
#include "admin/sign_in.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "admin/caller.h"
#include "config/config.h"
#include "core/crypto.h"
#include "core/encoding.h"
#include "core/seal.h"
#include "policy/request_view.h"
#include "reading/address.h"
#include "reading/secret.h"
#include "store/identity.h"
#include <semel/clock.h>

namespace semel::admin {
namespace {

// The tokens of the configuration, each under a letter that the payload has.
struct RoleToken {
  char letter;
  Role role;
  const reading::Secret& secret;
};

std::array<RoleToken, 4> tokens_of(const config::AdminConfig& config) {
  return {{{.letter = 'v', .role = Role::viewer, .secret = config.viewer},
           {.letter = 'o', .role = Role::operates, .secret = config.operates},
           {.letter = 'a', .role = Role::admin, .secret = config.admin},
           {.letter = 't', .role = Role::admin, .secret = config.token}}};
}

std::string tag_of(std::string_view key, std::string_view payload, const reading::Secret& token) {
  return core::hmac(core::HmacHash::sha256, key, std::string(payload) + '\n' + token.reveal());
}

std::string_view host_of(const policy::RequestView& request) {
  const auto lines = policy::lines_of(request.fields, "Host");
  return lines.empty() ? std::string_view() : lines.front();
}

// `__Host-semel`; on this machine `semel` and the port, since browsers do not keep cookies of ports apart.
std::string cookie_name(const policy::RequestView& request) {
  const std::string_view host = host_of(request);
  const auto endpoint = reading::parse_endpoint(host);
  if (endpoint && reading::is_loopback(*endpoint)) return "semel-" + std::to_string(endpoint->port);
  const reading::Endpoint without_port{.host = std::string(host), .port = 80};
  return reading::is_loopback(without_port) ? "semel" : "__Host-semel";
}

// The payload in lines: the letter of the token, milliseconds, a number, a name.
std::vector<std::string_view> lines_in(std::string_view payload) {
  std::vector<std::string_view> lines;
  while (lines.size() < 3) {
    const std::size_t end = payload.find('\n');
    if (end == std::string_view::npos) return {};
    lines.push_back(payload.substr(0, end));
    payload.remove_prefix(end + 1);
  }
  lines.push_back(payload);
  return lines;
}

std::optional<Time> time_in(std::string_view text) {
  std::int64_t millis = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), millis);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return Time(Millis(millis));
}

}  // namespace

std::optional<std::string> SignIns::begin(std::string_view token, std::string_view name, Time now,
                                          const config::AdminConfig& config) const {
  std::string payload;
  const reading::Secret* found = nullptr;
  for (const RoleToken& each : tokens_of(config)) {  // all are compared, so that the time tells nothing
    if (each.secret.empty() || !core::equal_in_constant_time(token, each.secret.reveal())) continue;
    payload = std::string(1, each.letter);
    found = &each.secret;
  }
  if (found == nullptr) return std::nullopt;
  const core::Salt number = store::random_salt();
  payload += '\n' + std::to_string((now + lasts).time_since_epoch().count()) + '\n' + core::to_hex(number) + '\n';
  payload += name;
  return core::to_base64(payload, core::Base64::url) + '.' +
         core::to_base64(tag_of(key_, payload, *found), core::Base64::url);
}

std::optional<SignedIn> SignIns::read(std::string_view value, Time now, const config::AdminConfig& config) const {
  const std::size_t dot = value.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto payload = core::from_base64(value.substr(0, dot), core::Base64::url);
  const auto tag = core::from_base64(value.substr(dot + 1), core::Base64::url);
  if (!payload || !tag) return std::nullopt;
  const std::vector<std::string_view> lines = lines_in(*payload);
  if (lines.empty() || lines[0].size() != 1) return std::nullopt;
  const auto tokens = tokens_of(config);
  const auto token = std::ranges::find(tokens, lines[0].front(), &RoleToken::letter);
  if (token == tokens.end() || token->secret.empty()) return std::nullopt;
  if (!core::equal_in_constant_time(*tag, tag_of(key_, *payload, token->secret))) return std::nullopt;
  const std::optional<Time> until = time_in(lines[1]);
  if (!until || *until <= std::max(now, over_) || ended_.contains(std::string(lines[2]))) return std::nullopt;
  return SignedIn{.role = token->role, .name = std::string(lines[3]), .until = *until, .number = std::string(lines[2])};
}

std::optional<SignedIn> SignIns::of(const policy::RequestView& request, Time now,
                                    const config::AdminConfig& config) const {
  if (!config.dashboard) return std::nullopt;
  const std::string begins = cookie_name(request) + "=";
  for (std::string_view line : policy::lines_of(request.fields, "Cookie")) {
    while (!line.empty()) {
      const std::size_t end = std::min(line.find(';'), line.size());
      std::string_view cookie = line.substr(0, end);
      cookie.remove_prefix(std::min(cookie.find_first_not_of(' '), cookie.size()));
      line.remove_prefix(std::min(end + 1, line.size()));
      if (!cookie.starts_with(begins)) continue;
      if (auto session = read(cookie.substr(begins.size()), now, config)) return session;
    }
  }
  return std::nullopt;
}

void SignIns::end(const SignedIn& session, Time now) {
  if (ended_.size() == ended_max) std::erase_if(ended_, [&](const auto& each) { return each.second <= now; });
  if (ended_.size() == ended_max) {
    for (const auto& [number, until] : ended_) over_ = std::max(over_, until);
    ended_.clear();
  }
  ended_.emplace(session.number, session.until);
}

std::string cookie_field(const policy::RequestView& request, std::string_view value) {
  const std::string name = cookie_name(request);
  const auto seconds = value.empty() ? 0 : std::chrono::duration_cast<std::chrono::seconds>(SignIns::lasts).count();
  std::string field = name + "=" + std::string(value) + "; Path=/; HttpOnly; SameSite=Strict; Max-Age=";
  field += std::to_string(seconds);
  return name == "__Host-semel" ? field + "; Secure" : field;
}

}  // namespace semel::admin
