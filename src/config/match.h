// Which rule applies to a request.
//
// Webhooks are tried before routes, each in the order of the file; the first whose path matches decides, whatever the
// method. On a route's path the methods that it lists are guarded and all others pass through. On a webhook's path
// every method belongs to the webhook: some providers send a GET first.
//
// A route that names one path takes it, whatever it looks like: somebody wrote it down. A route for many paths takes
// none that its upstream might read as that of a stricter rule.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <variant>

#include "config/config.h"
#include "policy/spelling.h"

namespace semel::config {

struct Guarded {
  const policy::Route* route;
};
struct Unguarded {
  const policy::Route* route;
};
struct WebhookCall {
  const webhook::Webhook* webhook;
};
struct NoRoute {};  // 404
// 400: see doubtful_path(). `why` names what is wrong with the path.
struct DoubtfulPath {
  std::string_view why;
};

// 400: under a route for many paths, one that some servers would take for that of a webhook or of a route that guards
// this method, although its bytes are others. See policy/spelling.h.
struct LookAlike {
  std::string_view whose;  // "a webhook", "a guarded route"
  policy::Overlooked overlooked;
};
// A sentence for the client.
std::string detail_of(const LookAlike& found);

// 400: `post` is another method than POST in HTTP, but not for every server.
struct MisspelledMethod {};

// 501: a method that would pass, and that nobody here knows.
struct UnknownMethod {};
inline constexpr std::string_view unknown_method_detail =
    "This gateway does not know the method, so it is not passed on.";

using Match =
    std::variant<Guarded, Unguarded, WebhookCall, NoRoute, DoubtfulPath, LookAlike, MisspelledMethod, UnknownMethod>;

// `path` is as received, without the query. The pointers live as long as `config`.
Match match(const Config& config, std::string_view method, std::string_view path);

// The methods that pass without being listed: those of RFC 9110 that a gateway can hand on, and PATCH.
inline constexpr std::array<std::string_view, 7> usual_methods{"GET",   "HEAD",   "POST",   "PUT",
                                                               "PATCH", "DELETE", "OPTIONS"};

// Whether `method` is one of those that the route lists.
bool lists(const policy::Route& route, std::string_view method);

// Whether `method`, which is not listed, is a listed one in other capitals.
bool misspelled(const policy::Route& route, std::string_view method);
inline constexpr std::string_view misspelled_detail =
    "The method is not written in capital letters, which programs read in different ways.";

}  // namespace semel::config
