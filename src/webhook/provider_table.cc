// One row per provider, made from the same data that the gateway uses.
#include "webhook/provider_table.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/check.h"
#include "policy/expression.h"
#include "reading/units.h"
#include "webhook/coverage.h"
#include "webhook/provider.h"
#include <semel/clock.h>

namespace semel::webhook {
namespace {

std::vector<Provider> all() {
  std::vector<Provider> providers;
  for (const ProviderFile& file : builtin_providers()) {
    auto loaded = parse_provider(file.text, file.name, file.name);
    core::check(loaded.has_value(), "what is compiled in can be read");
    providers.push_back(std::move(loaded->provider));
  }
  return providers;
}

std::string horizon_text(const Provider& provider) {
  return provider.horizon == Millis{0} ? "-" : reading::duration_text(provider.horizon);
}

// What the schemes have to say, each text once.
template <class Text>
std::string of_schemes(const Provider& provider, Text text) {
  std::vector<std::string> texts;
  for (const SignatureScheme& scheme : provider.schemes) {
    std::string one(text(scheme));
    if (std::ranges::find(texts, one) == texts.end()) texts.push_back(std::move(one));
  }
  return fmt::format("{}", fmt::join(texts, "; or "));
}

std::string key_text(const Provider& provider) {
  if (!provider.event.deduplicate) return "none: every delivery is handed on";
  return of_schemes(provider, [&](const SignatureScheme& scheme) {
    std::vector<std::string_view> ids;
    for (const policy::Expression& id : ids_of(provider, scheme)) ids.push_back(id.text);
    return fmt::format("{}", fmt::join(ids, ", or "));
  });
}

std::string order_text(const Provider& provider) {
  const std::optional<policy::Expression>& order = provider.event.order;
  const std::optional<policy::Expression>& object = provider.event.object;
  return order && object ? object->text + " by " + order->text : "-";
}

std::string id_is_signed(const Provider& provider) {
  if (!provider.event.deduplicate) return "-";
  return of_schemes(provider, [&](const SignatureScheme& scheme) {
    if (signs_id(provider, scheme)) return "yes";
    return signs_id(provider, scheme, 0) ? "the first" : "no";
  });
}

std::string signed_text(const Provider& provider) {
  return of_schemes(provider, [](const SignatureScheme& scheme) -> std::string {
    if (scheme.algorithm == Algorithm::paypal) return "id and time of the transmission, CRC-32 of the body";
    if (scheme.algorithm == Algorithm::aws_sns) return "Message, MessageId, Subject, Timestamp, TopicArn, Type";
    if (scheme.algorithm == Algorithm::plaid) return "SHA-256 of the body";
    if (scheme.signed_text.text.empty()) return "nothing";
    std::string text = "`" + scheme.signed_text.text + "`";
    if (scheme.body_hash && !scheme.body_hash->parts.front().optional) text += " with the SHA-256 of the body";
    return text;
  });
}

std::string fresh_text(const Provider& provider) {
  return of_schemes(provider, [](const SignatureScheme& scheme) -> std::string {
    if (scheme.algorithm == Algorithm::jwt) return "until the token expires";
    return scheme.tolerance == Millis{0} ? "-" : "±" + reading::duration_text(scheme.tolerance);
  });
}

std::string listed(const std::vector<policy::Part>& parts, std::string_view between) {
  std::vector<std::string> texts;
  texts.reserve(parts.size());
  for (const policy::Part& part : parts) texts.push_back(policy::part_text(part));
  return fmt::format("{}", fmt::join(texts, between));
}

// Whether everything that a handler reads in the body is signed.
bool covers_content(const SignatureScheme& scheme) {
  const policy::Part body{.kind = policy::PartKind::json, .text = "/any", .pointer = {}};
  const bool payload = scheme.signed_text.is_single(policy::PartKind::form);
  return payload || covers(scheme, body);
}

bool hashes_signed_text(const policy::Expression& id) {
  return std::ranges::any_of(id.parts, [](const policy::Part& part) {
    return part.kind == policy::PartKind::sha256 && part.text == "signed";
  });
}

// What a made-up event has from the captured one, because it is signed and part of the key: " with the same ...", or
// nothing.
std::string same_text(const Provider& provider, const SignatureScheme& scheme) {
  if (std::ranges::none_of(ids_of(provider, scheme), hashes_signed_text)) return {};
  std::vector<policy::Part> same;
  for (const policy::Part& part : scheme.signed_text.parts) {
    const bool is_time = part.kind == policy::PartKind::timestamp && scheme.timestamp;
    if (part.kind != policy::PartKind::literal) same.push_back(is_time ? scheme.timestamp->parts.front() : part);
  }
  return " with the same " + listed(same, " and ");
}

// What somebody can do who holds one delivery and no secret.
std::string stranger_text(const Provider& provider, const SignatureScheme& scheme) {
  const bool limited = scheme.tolerance > Millis{0};
  const std::string window = limited ? " for " + reading::duration_text(scheme.tolerance) : std::string{};
  if (scheme.algorithm == Algorithm::token) return "make up any event, until the secret is changed";
  if (scheme.algorithm == Algorithm::jwt) return "make up any event until the token expires";
  if (vouches_for_sender_only(provider, scheme)) return "make up any event" + same_text(provider, scheme) + window;
  const std::string_view changed = covers_content(scheme) ? "" : "change what is not signed before it is handled; ";
  if (!provider.event.deduplicate) return fmt::format("{}have it handled again{}", changed, window);
  const std::vector<policy::Part> believed = unsigned_id_parts(provider, scheme);
  if (!believed.empty()) {
    return fmt::format("{}have it handled again under another {}{}", changed, listed(believed, " or "), window);
  }
  if (!limited || longest_life(scheme, std::nullopt) > provider.ttl) {
    return fmt::format("{}have it handled again after {}", changed, reading::duration_text(provider.ttl));
  }
  return changed.empty() ? "nothing" : std::string(changed.substr(0, changed.size() - 2));
}

std::string_view algorithm_text(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::hmac_sha1:
      return "HMAC-SHA1";
    case Algorithm::hmac_sha256:
      return "HMAC-SHA256";
    case Algorithm::hmac_sha512:
      return "HMAC-SHA512";
    case Algorithm::ed25519:
      return "Ed25519";
    case Algorithm::ecdsa_p256_sha256:
      return "ECDSA P-256";
    case Algorithm::token:
      return "the secret itself";
    case Algorithm::none:
      return "nothing";
    case Algorithm::paypal:
    case Algorithm::aws_sns:
      return "RSA, by a certificate";
    case Algorithm::jwt:
    case Algorithm::plaid:
      return "JWT";
  }
  return {};
}

// Which tests hold what the page says. tests/tools/docs_test.py knows whether they exist.
constexpr std::string_view shown_by = R"(
## Shown by

The tests are [described here](../tests/README.md); a scenario is named by its file and title.

| claim | tests |
|---|---|
| [Webhook providers](#webhook-providers): where the page comes from | `ProviderTable.IsTheOneInTheDocuments`, `BuiltinProviders.AreTheFilesOfTheFolder`, `Providers.test_are_listed_and_shown` |
| [Webhook providers](#webhook-providers): signatures and keys of events | `BuiltinProviders.AllHaveARecordedDelivery`, `Authenticate.TakesAuthenticDeliveries`, `Sign.MakesTheRecordedDeliveries`, `Events.HaveAKeyAtEveryProvider`, `RealSigners.test_are_believed_and_altered_deliveries_are_not` |
| [Webhook providers](#webhook-providers): whether the id is signed | `ProviderFiles.ClaimNoMoreThanIsSigned`, `Events.CompareTheBodyWhereTheIdIsNotSigned`, `webhook.txt: Another body under an id that is not signed is refused`, `webhook.txt: Another body under an id that is signed is the same event` |
| [Webhook providers](#webhook-providers): order, retries and ttl | `ProviderFiles.OrderEventsByWhatIsSigned`, `EventOrder.CanBeReadOfRecordedDeliveries`, `WebhookConfig.TakesProvidersFromTheUsersFolder`, `WebhookConfig.HoldsWhatTheFileSays`, `WebhookWarnings.NameWhatIsUnwise` |
| [What a captured delivery is worth](#what-a-captured-delivery-is-worth): nothing else makes a new event | `Tampering.MakesNoNewEvent`, `Tampering.MakesNoNewEventInTwoSteps`, `Tampering.StartsFromDeliveriesThatAreTaken`, `Captures.test_nothing_reaches_the_service_twice`, `Events.WithoutAnIdAreNotDeduplicated` |
| [What a captured delivery is worth](#what-a-captured-delivery-is-worth): fresh for, and how long it is remembered | `ProviderTable.SaysHowLongADeliveryIsFresh`, `ProviderTable.PromisesNothingThatTheMemoryDoesNotHold`, `webhook.txt: An event goes to its handler once, and its retry hears the same` |
| [What a captured delivery is worth](#what-a-captured-delivery-is-worth): what is believed though nobody signs it | `ProviderTable.NamesTheHeadersThatAreBelieved`, `ProviderTable.OffersTheBodyAsAName`, `ProviderTable.SaysWhereAnyEventCanBeMadeUp`, `ProviderTable.SaysWhereMethodAndQueryAreSigned`, `Tampering.MovesADeliveryToAnotherPathOnlyIfTheAddressIsNotSigned`, `Captures.test_a_delivery_in_anothers_clothes_does_not_take_its_place` |
| [What a captured delivery is worth](#what-a-captured-delivery-is-worth): what can be changed before it is handled | `ProviderTable.SaysWhatCanBeChangedBeforeItIsHandled`, `Authenticate.TakesNoObjectForAMemberThatIsLeftOut`, `FetchedKeys.TakeNoSubjectOfSnsThatIsNotSigned` |
| [What a captured delivery is worth](#what-a-captured-delivery-is-worth): Dropbox Sign | `DropboxSign.test_an_event_in_a_form_is_handled_once_and_hears_its_word` |
| [What a captured delivery is worth](#what-a-captured-delivery-is-worth): Twilio | `Twilio.test_a_senders_text_can_be_cut_into_other_fields` |
| [What a captured delivery is worth](#what-a-captured-delivery-is-worth): PayPal | `FetchedKeys.BindPayPalsBodyToItsTransmission`, `FetchedKeys.CheckTheTimeOfPayPal`, `PayPalsApi.test_what_paypal_denies_is_refused`, `PayPalsApi.test_nothing_is_taken_while_paypal_does_not_answer` |
)";

std::string signature_text(const Provider& provider) {
  return of_schemes(provider, [](const SignatureScheme& scheme) {
    std::string way(algorithm_text(scheme.algorithm));
    if (!scheme.from.text.empty()) way += fmt::format(" in `{}`", scheme.from.text);
    return way;
  });
}

}  // namespace

std::string provider_list() {
  std::string out = fmt::format("{:<18} {:>8} {:>5}  {:<7} {}\n", "provider", "retries", "ttl", "ordered", "key");
  for (const Provider& provider : all()) {
    out += fmt::format("{:<18} {:>8} {:>5}  {:<7} {}\n", provider.name, horizon_text(provider),
                       reading::duration_text(provider.ttl), provider.event.order ? "yes" : "-", key_text(provider));
  }
  return out;
}

std::string provider_markdown() {
  std::string out = R"(# Webhook providers

Made by `semel providers list --markdown` from the files in `providers/`; `semel providers show NAME` prints one of them,
with what is not documented about the provider. How the files are written is in [webhooks.md](webhooks.md). [The last
section](#shown-by) names the tests that hold what is said here.

*id signed*: whether the key of an event is among the signed bytes, worked out from the file. *retries*: how long the
provider repeats an event by itself (`-`: not at all, or not documented). *ttl*: how long an event is remembered unless the
webhook says otherwise. Where the id is not signed, the body is compared with the first one that came under it.

| provider | signed with | key of an event | id signed | order | retries | ttl |
|---|---|---|---|---|---|---|
)";
  const std::vector<Provider> providers = all();
  for (const Provider& provider : providers) {
    out += fmt::format("| `{}` {} | {} | {} | {} | {} | {} | {} |\n", provider.name, provider.title,
                       signature_text(provider), key_text(provider), id_is_signed(provider), order_text(provider),
                       horizon_text(provider), reading::duration_text(provider.ttl));
  }
  out += R"(
## What a captured delivery is worth

Somebody may come to hold a delivery without knowing a secret: from a log, a proxy, a debugging tool. This is what the
provider's scheme leaves open then. *fresh for*: how far the signed time may be from ours; `-`: no time is signed.
"Handled again" means a second run of the handler. A delivery that is sent again within the ttl as it was is answered from
memory and runs nothing, unless the events of the provider have no key.

Where an unsigned header names the event, that is the provider's documented name, and two of its events may have the same
body. If none of yours have, `key_from = "{sha256:body}"` names events by their signed bodies, and nothing unsigned counts.
Somebody who also knows the name of an event that has not come yet can send the captured delivery under it. The genuine one
is then refused (422), not acknowledged.
What is not in the table is signed by nobody: other headers, and the method, the path and the query unless `{method}` or
`{url}` is there. A handler should not believe it. A webhook whose path is a pattern takes a delivery on each of its
paths, unless the address is signed.

Dropbox Sign signs the time and the type of an event. Semel cannot bind anything else to a delivery: another object under
the same time and type is another event. Ask its API for the object before anything that matters.

Twilio signs the fields of a form with nothing between them. Somebody whose own text is part of a delivery, such as the
sender of a message, can cut it into other fields and send that as another event, under another idempotency token. Ask
Twilio's API for the message before anything that matters.

PayPal signs a CRC-32 of the body, and another body can be made to have the same. Semel takes a transmission once, with the
body that came first: a captured delivery that was handled is worth nothing. One that PayPal has sent and Semel has not
handled yet can be sent with another body, so ask PayPal for the resource before anything that matters. With
`api_credentials`, PayPal's own API has the last word on each delivery; whether it compares more than the checksum is not
documented.

| provider | what is signed | fresh for | with one delivery, a stranger can |
|---|---|---|---|
)";
  for (const Provider& provider : providers) {
    const std::string stranger =
        of_schemes(provider, [&](const SignatureScheme& scheme) { return stranger_text(provider, scheme); });
    out +=
        fmt::format("| `{}` | {} | {} | {} |\n", provider.name, signed_text(provider), fresh_text(provider), stranger);
  }
  out += shown_by;
  return out;
}

}  // namespace semel::webhook
