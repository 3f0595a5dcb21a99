#include "webhook/inquiry.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ascii.h"
#include "core/encoding.h"
#include "core/json/writer.h"
#include "policy/json_scalar.h"
#include "policy/request_view.h"
#include "webhook/authenticate.h"
#include "webhook/fetched_keys.h"
#include "webhook/provider.h"
#include <semel/clock.h>

namespace semel::webhook {
namespace {

constexpr std::size_t seconds_digits_max = 6;  // of a token's life: eleven days
constexpr Millis margin{60'000};

std::string_view field(const policy::RequestView& request, std::string_view name) {
  const auto lines = policy::lines_of(request.fields, name);
  return lines.size() == 1 ? lines.front() : std::string_view{};
}

std::optional<std::string> member(std::string_view document, std::string_view name) {
  const std::vector<std::string> pointer{std::string(name)};
  auto value = policy::json_scalar(document, pointer);
  return value ? std::optional(*std::move(value)) : std::nullopt;
}

// The API of the place that the certificate came from: there is one for tests and one for the rest.
std::optional<std::string> api_of(const SignatureScheme& scheme, std::string_view certificate) {
  for (std::size_t i = 0; i < std::min(scheme.keys.size(), scheme.api.size()); ++i) {
    if (certificate.starts_with(scheme.keys[i])) return scheme.api[i];
  }
  return std::nullopt;
}

// The body is put in as it came: PayPal compares its bytes.
std::string question(const policy::RequestView& request, std::string_view webhook_id) {
  std::string body;
  core::json::JsonWriter(body)
      .begin_object()
      .bytes("auth_algo", field(request, "PAYPAL-AUTH-ALGO"))
      .bytes("cert_url", field(request, "PAYPAL-CERT-URL"))
      .bytes("transmission_id", field(request, "PAYPAL-TRANSMISSION-ID"))
      .bytes("transmission_sig", field(request, "PAYPAL-TRANSMISSION-SIG"))
      .bytes("transmission_time", field(request, "PAYPAL-TRANSMISSION-TIME"))
      .bytes("webhook_id", webhook_id)
      .end_object();
  body.pop_back();
  return body.append(",\"webhook_event\":").append(request.body).append("}");
}

}  // namespace

std::optional<Inquiry> inquiry_about(const Provider& provider, const Lock& lock, const Authentic& authentic,
                                     const SecretKey& credentials, const policy::RequestView& request) {
  const SignatureScheme& scheme = provider.schemes[authentic.scheme];
  const std::optional<SecretKey>& webhook_id = lock.keys[authentic.scheme][authentic.secret];
  const auto api = api_of(scheme, authentic.document);
  // Text behind a JSON document would become a member of the question.
  if (!api || !webhook_id || !policy::is_json(request.body)) return std::nullopt;
  Wanted token{.url = *api + "v1/oauth2/token", .body = "grant_type=client_credentials"};
  token.authorization = "Basic " + core::to_base64(credentials.id + ":" + credentials.bytes);
  token.name = token.url + "#" + credentials.id;
  return Inquiry{.token = std::move(token),
                 .url = *api + "v1/notifications/verify-webhook-signature",
                 .body = question(request, webhook_id->bytes),
                 .subject = std::string(field(request, "PAYPAL-TRANSMISSION-ID"))};
}

std::optional<AccessToken> read_access_token(std::string_view document) {
  auto text = member(document, "access_token");
  const auto seconds = member(document, "expires_in");
  const auto visible = [](char c) { return c > ' ' && c <= '~'; };
  if (!text || text->empty() || !std::ranges::all_of(*text, visible)) return std::nullopt;
  if (!seconds || seconds->empty() || seconds->size() > seconds_digits_max) return std::nullopt;
  if (!std::ranges::all_of(*seconds, core::is_digit)) return std::nullopt;
  const Millis whole{1'000LL * std::stoll(*seconds)};
  if (whole == Millis{0}) return std::nullopt;
  // A token is not used to its very end. One that ends soon is handed out again until then.
  return AccessToken{.text = *std::move(text), .life = whole > 2 * margin ? whole - margin : whole / 2};
}

std::optional<bool> read_verdict(std::string_view document) {
  const auto status = member(document, "verification_status");
  if (status == "SUCCESS") return true;
  if (status == "FAILURE") return false;
  return std::nullopt;
}

}  // namespace semel::webhook
