// The gateway's webhook rules behind one call.
#include "guard/verifier.h"

#include <algorithm>
#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "policy/expression.h"
#include "policy/identify.h"
#include "policy/request_view.h"
#include "reading/secret.h"
#include "webhook/authenticate.h"
#include "webhook/event.h"
#include "webhook/fetched_keys.h"
#include "webhook/provider.h"
#include "webhook/signatures.h"
#include <semel/clock.h>
#include <semel/http_request.h>
#include <semel/result.h>
#include <semel/webhook.h>

namespace semel::guard {
namespace {

Result<webhook::Provider> find_provider(std::string_view name) {
  const auto files = webhook::builtin_providers();
  const auto found = std::ranges::find(files, name, &webhook::ProviderFile::name);
  if (found == files.end()) return fail(Code::invalid, "there is no provider \"" + std::string(name) + "\"");
  auto loaded = webhook::parse_provider(found->text, name, name);
  if (!loaded) return fail(Code::invalid, "the file of the provider \"" + std::string(name) + "\" has errors");
  return std::move(loaded->provider);
}

// Reports now what would make every delivery fail later.
Result<void> check_lock(const webhook::Provider& provider, const webhook::Lock& lock, std::size_t secrets) {
  const std::string& name = provider.name;
  const bool fetches = std::ranges::any_of(
      provider.schemes, [](const webhook::SignatureScheme& scheme) { return webhook::fetches_keys(scheme.algorithm); });
  if (fetches) return fail(Code::invalid, "the keys of " + name + " have to be fetched, which only the gateway does");
  const bool open = std::ranges::any_of(provider.schemes, [](const webhook::SignatureScheme& scheme) {
    return scheme.algorithm == webhook::Algorithm::none;
  });
  if (secrets == 0 && !open) return fail(Code::invalid, "without a secret every delivery would be refused");
  for (std::size_t i = 0; i < secrets && !open; ++i) {
    const bool usable = std::ranges::any_of(lock.keys, [i](const auto& keys) { return keys[i].has_value(); });
    if (usable) continue;
    return fail(Code::invalid,
                "secret number " + std::to_string(i + 1) + " does not have the form of a key of " + name);
  }
  const bool covers_url = std::ranges::any_of(provider.schemes, [](const webhook::SignatureScheme& scheme) {
    return scheme.signed_text.has(policy::PartKind::url);
  });
  if (!covers_url || !lock.public_url.empty()) return {};
  return fail(Code::invalid, name + " signs the address that it calls: public_url is needed");
}

}  // namespace

policy::RequestView view_of(const HttpRequest& request) {
  policy::RequestView view{.method = request.method,
                           .target = {},
                           .path = {},
                           .query = {},
                           .fields = request.fields,
                           .body = request.body,
                           .ip = request.ip};
  policy::set_target(view, request.target);
  return view;
}

webhook::Judged WebhookEndpoint::judge(const policy::RequestView& request) const {
  const webhook::Documents none = [](const std::string&) { return std::optional<std::string_view>(); };
  return webhook::judge_delivery(provider, lock, request, clock->wall(), none);
}

policy::Identified WebhookEndpoint::identify(const policy::RequestView& request,
                                             const webhook::Authentic& authentic) const {
  const webhook::EventPlace place{.space = space, .key_from = nullptr};
  return webhook::identify_event(provider, place, proof_of(authentic), request);
}

}  // namespace semel::guard

namespace semel {

Result<WebhookVerifier> WebhookVerifier::make(std::string_view provider, const std::vector<std::string>& secrets,
                                              Clock& clock, const Options& options) {
  Result<webhook::Provider> found = guard::find_provider(provider);
  if (!found) return std::unexpected(std::move(found.error()));
  auto endpoint = std::make_shared<guard::WebhookEndpoint>();
  endpoint->provider = *std::move(found);
  std::vector<reading::Secret> held;
  held.reserve(secrets.size());
  for (const std::string& secret : secrets) held.emplace_back(secret);
  endpoint->lock = webhook::make_lock(endpoint->provider, held, options.public_url, options.tolerance);
  endpoint->verify_token = reading::Secret(options.verify_token);
  endpoint->space = "webhook:" + std::string(provider);
  endpoint->clock = &clock;
  if (options.tolerance && std::ranges::none_of(endpoint->provider.schemes, webhook::has_time)) {
    return fail(Code::invalid, std::string(provider) + " signs no time, so a tolerance would do nothing");
  }
  if (Result<void> sound = guard::check_lock(endpoint->provider, endpoint->lock, secrets.size()); !sound) {
    return std::unexpected(std::move(sound.error()));
  }
  return WebhookVerifier(std::move(endpoint));
}

Result<WebhookVerifier::Event> WebhookVerifier::verify(const HttpRequest& request) const {
  const policy::RequestView view = guard::view_of(request);
  const webhook::Judged judged = endpoint_->judge(view);
  const auto* authentic = std::get_if<webhook::Authentic>(&judged);
  if (authentic == nullptr) {
    const auto* fault = std::get_if<webhook::SignatureFault>(&judged);
    return fail(Code::invalid,
                "the signature: " + std::string(name(fault == nullptr ? webhook::SignatureFault::no_key : *fault)));
  }
  policy::Identified identified = endpoint_->identify(view, *authentic);
  auto* identity = std::get_if<policy::Identity>(&identified);
  if (identity == nullptr) {
    const auto* refusal = std::get_if<policy::Refusal>(&identified);
    return fail(Code::invalid, refusal == nullptr ? "the event has no id" : refusal->detail);
  }
  webhook::EventLabels labels = webhook::describe_event(endpoint_->provider, view);
  return WebhookVerifier::Event{.key = std::move(identity->key),
                                .fingerprint = identity->fingerprint,
                                .type = std::move(labels.type),
                                .object = std::move(labels.object)};
}

Result<WebhookVerifier::Event> verify(std::string_view provider, const std::vector<std::string>& secrets,
                                      const HttpRequest& request, Clock& clock) {
  const Result<WebhookVerifier> verifier = WebhookVerifier::make(provider, secrets, clock);
  if (!verifier) return std::unexpected(verifier.error());
  return verifier->verify(request);
}

}  // namespace semel
