// Signing in to the dashboard: a token is traded for a cookie, so that no page has to keep the token.
//
//   cookie = base64url(payload) "." base64url(HMAC-SHA256(key, payload LF token))
//
// The payload says which token it was, until when it counts, a random number, and the name that the caller gave. The
// key is random per start, and the token is part of what is signed: a restart ends every session, and so does another
// token in the configuration. Signing out is remembered until the session would have ended anyway. There is room for
// 10,000 of these; whoever signs out when it is full ends all sessions that are as old as those.
//
// Used on the listener's thread only.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "admin/caller.h"
#include "config/config.h"
#include "policy/request_view.h"
#include <semel/clock.h>

namespace semel::admin {

// Who a cookie says is calling.
struct SignedIn {
  Role role = Role::viewer;
  std::string name;    // what the caller gave; not a proof
  Time until{};        // the session ends
  std::string number;  // of the session
};

class SignIns {
 public:
  static constexpr Millis lasts{12 * 3'600'000};

  explicit SignIns(std::string key) : key_(std::move(key)) {}

  // The value of a new cookie. None if no role has this token.
  [[nodiscard]] std::optional<std::string> begin(std::string_view token, std::string_view name, Time now,
                                                 const config::AdminConfig& config) const;

  // Who sent the request, by its cookie. None if it has none that counts.
  [[nodiscard]] std::optional<SignedIn> of(const policy::RequestView& request, Time now,
                                           const config::AdminConfig& config) const;

  void end(const SignedIn& session, Time now);

 private:
  static constexpr std::size_t ended_max = 10'000;

  [[nodiscard]] std::optional<SignedIn> read(std::string_view value, Time now, const config::AdminConfig& config) const;

  const std::string key_;
  std::map<std::string, Time> ended_;  // numbers of sessions, and until when they would have lasted
  Time over_{};                        // sessions that would last until then, or not as long, have ended
};

// The field that sets the cookie, or takes it away if `value` is empty. A browser that reached us on its own machine
// without TLS gets a plain cookie, named after the port; every other one gets `__Host-semel`, which it keeps and sends
// only with TLS.
std::string cookie_field(const policy::RequestView& request, std::string_view value);

}  // namespace semel::admin
