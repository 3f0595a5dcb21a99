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

#include "policy/authenticate.h"
#include "policy/event.h"
#include "policy/expression.h"
#include "policy/fetched_keys.h"
#include "policy/identify.h"
#include "policy/provider.h"
#include "policy/request_view.h"
#include "policy/secret.h"
#include "policy/signatures.h"
#include <semel/clock.h>
#include <semel/http_request.h>
#include <semel/result.h>
#include <semel/webhook.h>

namespace semel {
namespace {

Result<Provider> find_provider(std::string_view name) {
  const auto files = builtin_providers();
  const auto found = std::ranges::find(files, name, &ProviderFile::name);
  if (found == files.end()) return fail(Code::invalid, "there is no provider \"" + std::string(name) + "\"");
  auto loaded = parse_provider(found->text, name, name);
  if (!loaded) return fail(Code::invalid, "the file of the provider \"" + std::string(name) + "\" has errors");
  return std::move(loaded->provider);
}

// What would make every delivery fail later is said now.
Result<void> check_lock(const Provider& provider, const Lock& lock, std::size_t secrets) {
  const std::string& name = provider.name;
  const bool fetches = std::ranges::any_of(
      provider.schemes, [](const SignatureScheme& scheme) { return fetches_keys(scheme.algorithm); });
  if (fetches) return fail(Code::invalid, "the keys of " + name + " have to be fetched, which only the gateway does");
  const bool open = std::ranges::any_of(
      provider.schemes, [](const SignatureScheme& scheme) { return scheme.algorithm == Algorithm::none; });
  if (secrets == 0 && !open) return fail(Code::invalid, "without a secret every delivery would be refused");
  for (std::size_t i = 0; i < secrets && !open; ++i) {
    const bool usable = std::ranges::any_of(lock.keys, [i](const auto& keys) { return keys[i].has_value(); });
    if (usable) continue;
    return fail(Code::invalid,
                "secret number " + std::to_string(i + 1) + " is not written as the keys of " + name + " are");
  }
  const bool covers_url = std::ranges::any_of(
      provider.schemes, [](const SignatureScheme& scheme) { return scheme.signed_text.has(PartKind::url); });
  if (!covers_url || !lock.public_url.empty()) return {};
  return fail(Code::invalid, name + " signs the address that it calls: public_url is needed");
}

}  // namespace

RequestView view_of(const HttpRequest& request) {
  RequestView view{.method = request.method,
                   .target = {},
                   .path = {},
                   .query = {},
                   .fields = request.fields,
                   .body = request.body,
                   .ip = request.ip};
  set_target(view, request.target);
  return view;
}

Judged WebhookVerifier::Impl::judge(const RequestView& request) const {
  const Documents none = [](const std::string&) { return std::optional<std::string_view>(); };
  return judge_delivery(provider, lock, request, clock->now(), none);
}

Identified WebhookVerifier::Impl::identify(const RequestView& request, const Authentic& authentic) const {
  const EventPlace place{.space = space, .key_from = nullptr};
  return identify_event(provider, place, provider.schemes[authentic.scheme].signs_id, request);
}

Result<WebhookVerifier> WebhookVerifier::make(std::string_view provider, const std::vector<std::string>& secrets,
                                              Clock& clock, const Options& options) {
  Result<Provider> found = find_provider(provider);
  if (!found) return std::unexpected(std::move(found.error()));
  auto impl = std::make_shared<Impl>();
  impl->provider = *std::move(found);
  std::vector<Secret> held;
  held.reserve(secrets.size());
  for (const std::string& secret : secrets) held.emplace_back(secret);
  impl->lock = make_lock(impl->provider, held, options.public_url, options.tolerance);
  impl->verify_token = Secret(options.verify_token);
  impl->space = "webhook:" + std::string(provider);
  impl->clock = &clock;
  if (Result<void> sound = check_lock(impl->provider, impl->lock, secrets.size()); !sound) {
    return std::unexpected(std::move(sound.error()));
  }
  return WebhookVerifier(std::move(impl));
}

Result<WebhookVerifier::Event> WebhookVerifier::verify(const HttpRequest& request) const {
  const RequestView view = view_of(request);
  const Judged judged = impl_->judge(view);
  const auto* authentic = std::get_if<Authentic>(&judged);
  if (authentic == nullptr) {
    const auto* fault = std::get_if<SignatureFault>(&judged);
    return fail(Code::invalid,
                "the signature: " + std::string(name(fault == nullptr ? SignatureFault::no_key : *fault)));
  }
  Identified identified = impl_->identify(view, *authentic);
  auto* identity = std::get_if<Identity>(&identified);
  if (identity == nullptr) {
    const auto* refusal = std::get_if<Refusal>(&identified);
    return fail(Code::invalid, refusal == nullptr ? "the event has no id" : refusal->detail);
  }
  EventLabels labels = describe_event(impl_->provider, view);
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
