// Reading a provider's file: everything it may say, and every mistake at its line and column.
#include "webhook/provider.h"

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "support/places.h"
#include "support/rules.h"

namespace semel::webhook {
namespace {

using Lines = std::vector<std::string>;

// Seven lines without a fault.
constexpr std::string_view least =
    "title = 'Acme'\n"
    "[[signature]]\n"
    "from = '{header:Acme-Signature}'\n"
    "signs = '{body}'\n"
    "[event]\n"
    "id = '{json:/id}'\n"
    "\n";

Lines issues(std::string_view text, reading::Severity severity) {
  const auto loaded = parse_provider(text, "acme", "acme.toml");
  return test::texts(loaded ? loaded->warnings : loaded.error(), severity);
}
Lines errors(std::string_view text) {
  return issues(text, reading::Severity::error);
}

std::string signature(std::string_view lines) {
  return "[event]\nid = '{json:/id}'\n[[signature]]\n" + std::string(lines) + "\n";
}
std::string event(std::string_view lines) {
  return "[[signature]]\nfrom = '{header:S}'\nsigns = '{body}'\n[event]\n" + std::string(lines) + "\n";
}
std::string handshake(std::string_view lines) {
  return std::string(least) + "[[handshake]]\n" + std::string(lines) + "\n";
}

struct Case {
  std::string text;
  Lines issues;
};

// Everything a file can say arrives in the provider.
TEST(ProviderFiles, HoldWhatTheFileSays) {
  const auto loaded = parse_provider(
      "title = 'Acme'\nhorizon = '2d'\nttl = '3d'\nack = { status = 202, body = 'ok' }\n"
      "[[signature]]\nalgorithm = 'hmac-sha512'\nkey = 'hex'\nfrom = '{header:S}'\nseparator = ';'\nitem = 'v={}!'\n"
      "encoding = 'base64url'\nsigns = '{timestamp}.{url}{form*}{body}'\nid = '{json:/own}'\ntimestamp = '{item:t=}'\n"
      "timestamp_form = 'ms'\ntolerance = '10s'\n"
      "[event]\nid = ['{header:Id}', '{sha256:body}']\ntype = '{json:/t}'\nobject = '{json:/o}'\norder = '{json:/n}'\n"
      "order_form = 'text'\nitems = '/a/b'\nignore = ['/x']\n"
      "[[handshake]]\nmethod = 'GET'\nunless = '{json:/event}'\ntoken = '{query:c}'\nhmac = 'sha1'\njson = { a = "
      "'{token}', b = 2 }\n"
      "fields = { X-A = '{hmac}' }\n",
      "acme", "acme.toml");
  ASSERT_TRUE(loaded) << reading::to_text(loaded.error().front());
  const Provider& provider = loaded->provider;
  EXPECT_EQ(provider.name, "acme");
  EXPECT_EQ(provider.title, "Acme");
  EXPECT_EQ(provider.horizon, Millis{2 * 86'400'000LL});
  EXPECT_EQ(provider.ttl, Millis{3 * 86'400'000LL});
  EXPECT_EQ(provider.ack.value().status, 202);
  EXPECT_EQ(provider.ack.value().body, "ok");
  const SignatureScheme& scheme = provider.schemes.at(0);
  EXPECT_EQ(scheme.algorithm, Algorithm::hmac_sha512);
  EXPECT_EQ(scheme.key, KeyForm::hex);
  EXPECT_EQ(scheme.separator, ';');
  EXPECT_EQ(scheme.prefix, "v=");
  EXPECT_EQ(scheme.suffix, "!");
  EXPECT_EQ(scheme.encoding, Encoding::base64url);
  EXPECT_EQ(scheme.id.at(0).text, "{json:/own}");
  EXPECT_EQ(scheme.timestamp_form, MomentForm::millis);
  EXPECT_EQ(scheme.tolerance, Millis{10'000});
  EXPECT_EQ(provider.event.id.size(), 2U);
  EXPECT_EQ(provider.event.order_form, core::OrderForm::text);
  EXPECT_EQ(provider.event.items.value(), (Lines{"a", "b"}));
  EXPECT_EQ(provider.event.ignore.paths().size(), 1U);
  EXPECT_EQ(provider.handshakes.at(0).method, "GET");
  EXPECT_EQ(provider.handshakes.at(0).unless.value().text, "{json:/event}");
  EXPECT_EQ(provider.handshakes.at(0).json.size(), 2U);
  EXPECT_EQ(provider.handshakes.at(0).fields.size(), 1U);
}

// A file without what it cannot do without, or with what nobody knows.
TEST(ProviderFiles, NameWhatIsMissingOrUnknown) {
  const std::vector<Case> cases{
      {std::string(least), {}},
      {"title = 'A'",
       {"acme.toml:1:1: error: a provider needs [[signature]]; one that signs nothing says algorithm = \"none\"",
        "acme.toml:1:1: error: a provider needs [event]: what names an event"}},
      {"titel = 'A'\n" + std::string(least).substr(15),
       {"acme.toml:1:1: error: the file has no key `titel` (did you mean \"title\"?)"}},
      {"[signature]\n[event]\nid = '{json:/a}'",
       {"acme.toml:1:1: error: signature is a list of tables (did you mean "
        "\"[[signature]]\"?)"}},
  };
  for (const Case& each : cases) EXPECT_EQ(errors(each.text), each.issues) << each.text;
}

// The keys of a signature, one by one.
TEST(ProviderFiles, NameMistakesInSignatures) {
  const std::string at = "acme.toml:";
  const std::string fine = "from = '{header:S}'\nsigns = '{body}'\n";
  const std::vector<Case> cases{
      {"signs = '{body}'", {at + "3:1: error: signature needs `from`: where to find the signature"}},
      {"from = '{header:S}'", {at + "3:1: error: signature needs `signs`: the bytes that are signed"}},
      {"from = 'S'\nsigns = '{body}'", {at + "4:8: error: from is one part, such as {header:X-Signature}"}},
      {"from = '{hedder:S}'\nsigns = '{body}'",
       {at + "4:10: error: from: there is no part {hedder}; there are header:, headers:, query:, json: and form: (did "
             "you mean \"{header:S}\"?)"}},
      {fine + "algorithm = 'md5'",
       {at + "6:14: error: algorithm: \"md5\" is none of \"hmac-sha256\", \"hmac-sha1\", \"hmac-sha512\", \"ed25519\", "
             "\"ecdsa-p256-sha256\", \"token\", \"none\", \"paypal\", "
             "\"aws-sns\", \"jwt\", \"plaid\""}},
      {fine + "separator = ', '",
       {at + "6:13: error: separator is one character, or \"\" where there is one signature"}},
      {fine + "item = 'v1='", {at + "6:8: error: item shows with {} where to find the signature, such as \"v1={}\""}},
      {fine + "item = '{}{}'", {at + "6:8: error: item has one {}, and {key_id} only at its beginning"}},
      {"from = '{header:S}'\nsigns = '{timestamp}{body}'",
       {at + "5:9: error: signs has {timestamp}, so `timestamp` must say where to find it"}},
      {fine + "api = ['https://a.example/']",
       {at + "6:7: error: api is for PayPal, and has one address for each of `keys`"}},
      {fine + "tolerance = '5m'", {at + "6:13: error: tolerance needs `timestamp`: where to find the time"}},
      {fine + "timestamp = '{item:t=}'",
       {at + "6:13: error: {item:} needs a `separator`: without one there are no items"}},
      {fine + "algorithm = 'token'", {at + "5:9: error: nothing is signed with this algorithm"}},
      {fine + "algorithm = 'ed25519'",
       {at + "3:1: error: a public key is bytes: say how they are written (hex, base64, whpk)"}},
      {fine + "encoding = 'text'", {at + "6:12: error: a signature is bytes: hex, base64 or base64url"}},
  };
  for (const Case& each : cases) EXPECT_EQ(errors(signature(each.text)), each.issues) << each.text;
}

// The keys of an event, one by one.
TEST(ProviderFiles, NameMistakesInEvents) {
  const std::string at = "acme.toml:";
  const std::vector<Case> cases{
      {"", {at + "4:1: error: event needs `id`"}},
      {"id = []", {at + "5:6: error: id is an empty list"}},
      {"id = 'constant'", {at + "5:6: error: id names no part that must be present, so all events would count as one"}},
      {"id = '{header:Id?}'",
       {at + "5:6: error: id names no part that must be present, so all events would count as one"}},
      {"id = '{sha256:json}'",
       {at +
        "5:15: error: id: only the body and what is signed are hashed: {sha256:body}, {sha256:signed} (did you mean "
        "\"{sha256:body}\"?)"}},
      {"id = '{json:/a}'\nitems = 'a'", {at + "6:9: error: items: \"a\" is not a JSON pointer (RFC 6901)"}},
      {"id = '{json:/a}'\norder = '{json:/b}'",
       {at + "6:9: error: order needs `object`: events are in order per object"}},
      {"id = '{json:/a}'\nignore = ['b']",
       {at + "6:12: error: ignore: \"b\" is not a JSON pointer (RFC 6901) to a member"}},
  };
  for (const Case& each : cases) EXPECT_EQ(errors(event(each.text)), each.issues) << each.text;
}

// What a file claims beyond what its signatures cover is refused, wherever the parts come from.
TEST(ProviderFiles, ClaimNoMoreThanIsSigned) {
  const std::string at = "acme.toml:";
  const std::string scheme = "[[signature]]\nfrom = '{header:S}'\nsigns_id = true\n";
  const auto refused = [&](std::string_view part) {
    return Lines{at + "3:12: error: signs_id: " + std::string(part) +
                 " names the event, but the signature does not cover it"};
  };
  const std::vector<Case> cases{
      {"signs = '{body}'\n[event]\nid = '{json:/id}'", {}},
      {"signs = '{header:Id}.{body}'\n[event]\nid = '{header:id}'", {}},
      {"signs = '{body}'\n[event]\nid = '{header:Id}'", refused("{header:Id}")},
      {"signs = '{body}'\n[event]\nid = ['{header:Id}', '{json:/id}']", refused("{header:Id}")},
      {"signs = '{body}'\nid = '{json:/id}'\n[event]\nid = '{header:Id}'", {}},
      {"signs = '{body}'\nid = '{header:Id}'\n[event]\nid = '{json:/id}'", refused("{header:Id}")},
      {"signs = '{body}'\n[event]\nid = '{form:id}'", refused("{form:id}")},
      {"signs = '{body}'\n[event]\nid = '{query:id}'", refused("{query:id}")},
      {"signs = '{header:Id}{body}'\n[event]\nid = '{header:Id}'", refused("{header:Id}")},
      {"signs = '{header:Id?}.{body}'\n[event]\nid = '{header:Id}'", refused("{header:Id}")},
      {"signs = '{header:Id}{timestamp}{body}'\ntimestamp = '{header:T}'\ntimestamp_form = 'rfc3339'\n[event]\n"
       "id = '{header:Id}'",
       {}},
      {"signs = '{header:Id}{timestamp}{body}'\ntimestamp = '{header:T}'\ntolerance = '5m'\n[event]\nid = "
       "'{header:Id}'",
       refused("{header:Id}")},
      {"signs = '{json:/a}:{json:/b}'\n[event]\nid = '{json:/a}'", refused("{json:/a}")},
      {"signs = '{json:/a}:{json:/b}'\n[event]\nid = '{sha256:signed}'", {}},
      {"signs = '{url}{body}'\n[event]\nid = '{sha256:body}'", refused("{sha256:body}")},
      {"signs = '{url}{form*}'\n[event]\nid = '{form:a}'", refused("{form:a}")},
      {"signs = '{url}'\nbody_hash = '{query:h}'\n[event]\nid = '{json:/id}'", {}},
      {"signs = '{url}'\nbody_hash = '{query:h?}'\n[event]\nid = '{json:/id}'", refused("{json:/id}")},
      {"signs = '{url}'\nbody_hash = '{header:H}'\n[event]\nid = '{json:/id}'", refused("{json:/id}")},
      {"algorithm = 'token'\n[event]\nid = '{json:/id}'", refused("{json:/id}")},
  };
  for (const Case& each : cases) EXPECT_EQ(errors(scheme + each.text + "\n"), each.issues) << each.text;
  EXPECT_EQ(
      issues("[[signature]]\nfrom = '{header:S}'\nsigns = '{body}'\nsigns_id = false\n[event]\nid = '{json:/a}'\n",
             reading::Severity::warning),
      (Lines{at + "4:12: warning: signs_id is false, but the signature covers what names the event; leave it out"}));
}

// The JSON may be a part of a form; such a form is one event, and its boundary no part of any name.
TEST(ProviderFiles, LookIntoAPartOfAForm) {
  const std::string file = "json_part = 'json'\n" + std::string(least);
  const auto loaded = parse_provider(file, "acme", "acme.toml");
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->provider.json_part, "json");
  EXPECT_EQ(errors("json_part = 'json'\n" + event("id = '{json:/id}'\nitems = ''")),
            (Lines{"acme.toml:1:13: error: json_part and items do not go together: a part of a form is one event"}));
  EXPECT_EQ(
      errors("json_part = 'json'\n" + event("id = ['{json:/id}', '{sha256:body}']")),
      (Lines{"acme.toml:2:1: error: {sha256:body} names the event, but a form (json_part) is written anew for each "
             "attempt"}));
}

// An order that a stranger could write is none; a token vouches for its sender, who may say anything.
TEST(ProviderFiles, OrderEventsByWhatIsSigned) {
  const std::string at = "acme.toml:";
  const auto file = [](std::string_view signature, std::string_view object, std::string_view order) {
    return "[[signature]]\nfrom = '{header:S}'\n" + std::string(signature) +
           "\n[event]\nid = '{json:/id}'\nobject = '" + std::string(object) + "'\norder = '" + std::string(order) +
           "'\n";
  };
  EXPECT_EQ(errors(file("signs = '{body}'", "{json:/o}", "{json:/n}")), Lines{});
  EXPECT_EQ(
      errors(file("signs = '{body}'", "{json:/o}", "{header:N}")),
      (Lines{at + "7:9: error: order: the signature does not cover {header:N}, so a stranger could reorder events"}));
  EXPECT_EQ(
      errors(file("signs = '{body}'", "{header:O}", "{json:/n}")),
      (Lines{at + "6:10: error: object: the signature does not cover {header:O}, so a stranger could reorder events"}));
  EXPECT_EQ(errors(file("algorithm = 'token'", "{header:O}", "{header:N}")), Lines{});
  // A checksum of the body is no signature of it.
  EXPECT_EQ(
      errors(file("algorithm = 'paypal'\nkeys = ['https://a.example/b/']", "{json:/o}", "{json:/n}")),
      (Lines{at + "7:10: error: object: the signature does not cover {json:/o}, so a stranger could reorder events",
             at + "8:9: error: order: the signature does not cover {json:/n}, so a stranger could reorder events"}));
}

// The hash of what is signed names an event only if something is signed, and only this event.
TEST(ProviderFiles, HashOnlyWhatIsSigned) {
  const std::string at = "acme.toml:";
  EXPECT_EQ(
      errors("[[signature]]\nfrom = '{header:S}'\nalgorithm = 'token'\n[event]\nid = '{sha256:signed}'\n"),
      (Lines{at + "1:1: error: {sha256:signed} names the event, but this scheme signs no text that could be hashed"}));
  EXPECT_EQ(
      errors("[[signature]]\nfrom = '{header:S}'\nsigns = '{body}'\n[event]\nid = '{sha256:signed}'\nitems = ''\n"),
      (Lines{at + "1:1: error: {sha256:signed} is the same for all events of a batch, unless per_item is set"}));
}

// The keys of a handshake, one by one.
TEST(ProviderFiles, NameMistakesInHandshakes) {
  const std::string at = "acme.toml:";
  const std::vector<Case> cases{
      {"method = 'GET'\ntext = '{token}'",
       {at + "8:1: error: the answer has {token} or {hmac}, so `token` must say where to find it"}},
      {"method = 'GET'\ntoken = '{query:a}'\ntext = '{hmac}'",
       {at + "8:1: error: the answer has {hmac}, so `hmac` must say which: \"sha256\" or \"sha1\""}},
      {"text = 'x'", {at + "8:1: error: without `when` every POST would be taken for this handshake"}},
      {"method = 'GET'\nis = 'x'",
       {at + "10:6: error: `is` is the value that `when` must have, but there is no `when`"}},
      {"method = 'GET'\ntext = 'a'\njson = { a = 'b' }", {at + "10:8: error: an answer is either `text` or `json`"}},
      {"method = 'GET'\nfields = { 'a b' = 'c' }", {at + "10:12: error: \"a b\" is not the name of a header"}},
  };
  for (const Case& each : cases) EXPECT_EQ(errors(handshake(each.text)), each.issues) << each.text;
}

// A key that changes with every attempt is warned about: each retry would look new.
TEST(ProviderFiles, WarnOfUnstableKeys) {
  const std::string signature_in_id =
      "[[signature]]\nfrom = '{header:Stripe-Signature}'\nseparator = ','\nitem = 'v1={}'\ntimestamp = "
      "'{header:Sent}'\n"
      "signs = '{timestamp}.{body}'\n[event]\n";
  const auto warning = [](std::string_view place, std::string_view part) {
    return "acme.toml:" + std::string(place) + ": warning: id has " + std::string(part) +
           ", which changes with each attempt: every retry would look new";
  };
  EXPECT_EQ(issues(signature_in_id + "id = '{header:stripe-signature}'", reading::Severity::warning),
            (Lines{warning("8:6", "{header:stripe-signature}")}));
  EXPECT_EQ(issues(signature_in_id + "id = ['{json:/id}', '{json:/a}{header:Sent}']", reading::Severity::warning),
            (Lines{warning("8:21", "{header:Sent}")}));
  EXPECT_EQ(issues(signature_in_id + "id = '{header:X-Slack-Retry-Num}'", reading::Severity::warning),
            (Lines{warning("8:6", "{header:X-Slack-Retry-Num}")}));
  EXPECT_EQ(issues(signature_in_id + "id = '{header:Id}'", reading::Severity::warning), Lines{});
}

// What docs/webhooks.md shows as a file of one's own is one, without a fault.
TEST(ProviderFiles, AreShownRightInTheDocuments) {
  std::ifstream file(test::in_tree("docs/webhooks.md"));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::size_t begin = text.find("title = \"Acme\"");
  ASSERT_NE(begin, std::string::npos);
  const std::string example = text.substr(begin, text.find("```", begin) - begin);
  EXPECT_EQ(errors(example), Lines{});
  EXPECT_EQ(issues(example, reading::Severity::warning), Lines{});
}

// A file of another kind, or one that is too large, is an error and nothing worse.
TEST(ProviderFiles, RefuseWhatIsNotAProvider) {
  EXPECT_EQ(errors(std::string(70'000, '#')), (Lines{"acme.toml:1:1: error: the file is over 64KiB"}));
  EXPECT_EQ(errors("title = 'A\n").size(), 1U);
  EXPECT_FALSE(errors("signature = 1\nevent = 2\nhandshake = 3\nack = 4").empty());
}

}  // namespace
}  // namespace semel::webhook
