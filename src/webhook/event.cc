// The key of an event, as a text that fits into a Key.
#include "webhook/event.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/encoding.h"
#include "core/sha256.h"
#include "core/stamp.h"
#include "policy/expression.h"
#include "policy/identify.h"
#include "policy/request_view.h"
#include "webhook/authenticate.h"
#include "webhook/coverage.h"
#include "webhook/opened.h"
#include "webhook/provider.h"
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/problem.h>
#include <semel/response.h>
#include <semel/store.h>

namespace semel::webhook {
namespace {

constexpr std::size_t label_bytes_max = 100;

struct Named {
  std::string text;
  bool is_signed = false;
  bool has_address = false;  // the hash of a text with the whole address in it
};

// One short printable value is used as it is; anything else is hashed, after a byte that no value can begin with.
std::string key_text(const policy::Expression& expression, std::string joined) {
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  const bool plain =
      expression.parts.size() == 1 && joined.size() <= key_text_bytes_max && std::ranges::all_of(joined, printable);
  if (plain) return joined;
  return std::string(1, '\x01') + core::to_hex(core::sha256_parts("semel event key v1", {expression.text, joined}));
}

// PayPal signs a checksum of the body, which another body can have.
bool names_body(const SignatureScheme& scheme, const Named& named) {
  return named.is_signed && scheme.algorithm != Algorithm::paypal;
}

Fingerprint fingerprint_of(const Provider& provider, bool id_is_enough, const policy::RequestView& request) {
  if (id_is_enough) return {.digest = core::sha256("semel event with a signed id v1")};
  const Request asked{.method = {}, .target = {}, .body = json_of(request)};
  const bool all_of_it = provider.event.ignore.empty();
  return fingerprint(asked, all_of_it ? BodyForm::raw : BodyForm::json, provider.event.ignore);
}

bool hashes_address(const SignatureScheme& scheme, const policy::Expression& id) {
  return id.is_single(policy::PartKind::sha256) && id.parts.front().text == "signed" &&
         scheme.signed_text.has(policy::PartKind::url);
}

// The first id that is present. An id that is present but not usable is not skipped: another attempt may have it right,
// and would get another key.
std::expected<Named, policy::PartError> id_of(const Provider& provider, const SignatureScheme& scheme,
                                              const policy::Expression* key_from, const policy::RequestView& request) {
  if (key_from != nullptr) {
    auto joined = policy::evaluate(*key_from, request);
    if (!joined) return std::unexpected(std::move(joined).error());
    return Named{.text = key_text(*key_from, *std::move(joined)), .is_signed = covers(scheme, *key_from)};
  }
  policy::PartError last;
  const std::vector<policy::Expression>& ids = ids_of(provider, scheme);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    auto joined = policy::evaluate(ids[i], request);
    if (joined) {
      return Named{.text = key_text(ids[i], *std::move(joined)),
                   .is_signed = signs_id(provider, scheme, i),
                   .has_address = hashes_address(scheme, ids[i])};
    }
    last = std::move(joined).error();
    if (last.kind == policy::PartError::Kind::invalid) break;
  }
  return std::unexpected(std::move(last));
}

std::string_view name(core::OrderForm form) {
  if (form == core::OrderForm::number) return "number";
  return form == core::OrderForm::rfc3339 ? "rfc3339" : "text";
}

SharedOrder order_of(const EventRules& rules, const EventPlace& place, const policy::RequestView& request) {
  if (!place.ordered || !rules.object || !rules.order) return nullptr;
  const auto object = policy::evaluate(*rules.object, request);
  const auto value = policy::evaluate(*rules.order, request);
  auto stamp = value ? core::stamp_of(*value, rules.order_form) : std::nullopt;
  if (!object || !stamp) return nullptr;
  auto key = object_key(rules, place.space, request.path, *object);
  if (!key) return nullptr;
  return std::make_shared<const Order>(Order{.object = *std::move(key), .stamp = *std::move(stamp)});
}

std::string label(const std::optional<policy::Expression>& expression, const policy::RequestView& request) {
  if (!expression) return {};
  auto value = policy::evaluate(*expression, request);
  if (!value || value->size() > label_bytes_max || value->starts_with('\0')) return {};
  return *std::move(value);
}

}  // namespace

// The mark of an object has a key like any other, after a byte that no text of an event begins with. The expressions of
// the stamps are part of it: if a provider's file changes them, old marks do not count.
std::optional<Key> object_key(const EventRules& rules, std::string_view space, std::string_view path,
                              std::string_view object) {
  if (!rules.object) return std::nullopt;
  const std::string_view stamps = rules.order ? std::string_view(rules.order->text) : std::string_view();
  const Digest digest =
      core::sha256_parts("semel object v1", {rules.object->text, stamps, name(rules.order_form), object});
  auto key = make_key(space, path, std::string(1, '\x02') + core::to_hex(digest));
  if (!key) return std::nullopt;
  std::memcpy(&key->home, key->id.data(), sizeof(key->home));
  return *std::move(key);
}

Proof proof_of(const Authentic& authentic) {
  return {.scheme = authentic.scheme,
          .signed_text = authentic.signed_texts.empty() ? std::string_view{} : authentic.signed_texts.front()};
}

policy::Identified identify_event(const Provider& provider, const EventPlace& place, const Proof& proof,
                                  const policy::RequestView& unproven) {
  if (!provider.event.deduplicate && place.key_from == nullptr) return policy::Keyless{};
  const SignatureScheme& scheme = provider.schemes[proof.scheme];
  policy::RequestView request = opened(provider, unproven);
  request.signed_text = proof.signed_text;
  auto named = id_of(provider, scheme, place.key_from, request);
  if (!named) {
    const bool absent = named.error().kind == policy::PartError::Kind::missing;
    const Problem what = Problem::of(absent ? ProblemType::key_missing : ProblemType::key_invalid);
    return policy::Refusal{.problem = what, .detail = fmt::format("The event has no id. {}", named.error().detail)};
  }
  // Where an address and a form are signed with nothing between them, a path could take over the beginning of the form.
  auto key = make_key(place.space, named->has_address ? std::string_view{} : request.path, named->text);
  if (!key) return policy::Refusal{.problem = Problem::of(ProblemType::key_invalid), .detail = key.error().detail};
  SharedOrder order = order_of(provider.event, place, request);
  if (order != nullptr) key->home = order->object.home;
  return policy::Identity{.key = *std::move(key),
                          .fingerprint = fingerprint_of(provider, names_body(scheme, *named), request),
                          .key_text = std::move(named->text),
                          .order = std::move(order)};
}

EventLabels describe_event(const Provider& provider, const policy::RequestView& unopened) {
  const policy::RequestView request = opened(provider, unopened);
  return {.type = label(provider.event.type, request), .object = label(provider.event.object, request)};
}

Response acknowledgement_reply(const Acknowledgement& ack) {
  Response response{.status = ack.status, .fields = {}, .body = ack.body};
  if (!ack.body.empty()) response.fields.push_back({.name = "Content-Type", .value = "text/plain"});
  return response;
}

}  // namespace semel::webhook
