// The property behind all provider files: whatever a stranger does to a delivery that he captured, it is refused, or it
// is the same event. What the files cannot promise, they say, and no more than that happens.
#include "webhook/tampering.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "core/ascii.h"
#include "core/encoding.h"
#include "core/sha256.h"
#include "webhook/captured.h"
#include "webhook/coverage.h"
#include "webhook/deliveries.h"
#include "webhook/outcome.h"
#include "webhook/respelling.h"
#include "webhook/sign.h"

namespace semel::webhook {
namespace {

using test::Captured;
using test::Outcome;
using test::outcome_of;
using test::Sent;
using test::Tampered;

// What docs/providers.md says about this scheme: these parts are believed although nobody signed them. The table there
// is made from the same functions.
std::set<std::string> believed(const Provider& provider, const SignatureScheme& scheme) {
  std::vector<policy::Part> parts = unsigned_id_parts(provider, scheme);
  if (vouches_for_sender_only(provider, scheme)) {
    for (const auto& more : {provider.event.object, provider.event.order}) {
      if (more) parts.insert(parts.end(), more->parts.begin(), more->parts.end());
    }
  }
  std::set<std::string> names;
  for (const policy::Part& part : parts) {
    if (part.kind == policy::PartKind::header) names.insert(core::to_lower(part.text));
    if (part.kind == policy::PartKind::query) names.insert("{query}");
    if (part.kind == policy::PartKind::json || part.kind == policy::PartKind::sha256) names.insert("{body}");
  }
  return names;
}

// A delivery, and another of its kind.
struct Pair {
  Captured captured;
  Captured other;
  Outcome genuine;
  Outcome others;
};

bool is_same(const Outcome& one, const Outcome& other) {
  return one.keys == other.keys && one.places == other.places;
}

// Whether a body is the other delivery's, and not this one's, perhaps with something else in or around it.
bool has_body_of(const Captured& other, const std::string& body) {
  const auto mark = other.values.find("/unsigned");
  const std::string_view of_other = mark == other.values.end() ? other.request.body : mark->second;
  return body.find(of_other.substr(mark == other.values.end() ? 0 : 4)) != std::string::npos;
}

bool is_promised(const Pair& pair, const Tampered& tampered) {
  const auto& [captured, other, genuine, others] = pair;
  const Outcome outcome = outcome_of(captured, tampered.request);
  if (!outcome.refused.empty() || is_same(outcome, genuine)) return true;
  const std::set<std::string> named = believed(captured.provider, captured.provider.schemes[outcome.scheme]);
  // With the body of the other delivery it may be the other event. The id of the other one on this body is no such
  // thing.
  if (has_body_of(other, tampered.request.body)) {
    return is_same(outcome, others) || !named.empty();
  }
  return std::ranges::any_of(tampered.touched, [&](const std::string& name) { return named.contains(name); });
}

// Deliveries that are taken as they are, each with another of its kind.
std::vector<Pair> pairs() {
  std::vector<Pair> all;
  const std::vector<Captured> first = test::captured_deliveries(1);
  const std::vector<Captured> second = test::captured_deliveries(2);
  for (std::size_t i = 0; i < first.size(); ++i) {
    Outcome genuine = outcome_of(first[i], first[i].request);
    Outcome other = outcome_of(second.at(i), second[i].request);
    if (genuine.refused.empty()) all.push_back({first[i], second[i], std::move(genuine), std::move(other)});
  }
  return all;
}

std::vector<Tampered> every_act(const Captured& captured, const Captured& other) {
  std::vector<Tampered> all = test::tampered(captured, other);
  std::ranges::move(test::respelled(captured), std::back_inserter(all));
  return all;
}

// Every file has deliveries here that are taken, by each of its schemes; and two events are two events.
TEST(Tampering, StartsFromDeliveriesThatAreTaken) {
  std::set<std::string> taken;
  for (const Pair& pair : pairs()) {
    taken.insert(pair.captured.provider.name + std::to_string(pair.genuine.scheme));
    EXPECT_EQ(pair.others.refused, "") << pair.captured.title;
    if (!pair.genuine.keys.empty()) EXPECT_NE(pair.genuine.keys, pair.others.keys) << pair.captured.title;
  }
  for (const ProviderFile& file : builtin_providers()) {
    const Provider provider = test::builtin(file.name);
    for (std::size_t i = 0; i < provider.schemes.size(); ++i) {
      if (provider.schemes[i].algorithm == Algorithm::plaid) continue;  // its deliveries have no key
      EXPECT_TRUE(taken.contains(provider.name + std::to_string(i))) << provider.name << " " << i;
    }
  }
}

// A delivery that is sent to another path of the webhook is refused if the address is signed; otherwise it is another
// path's event, as docs/providers.md says.
TEST(Tampering, MovesADeliveryToAnotherPathOnlyIfTheAddressIsNotSigned) {
  for (const Pair& pair : pairs()) {
    const policy::Expression& text = pair.captured.provider.schemes[pair.genuine.scheme].signed_text;
    Sent moved = pair.captured.request;
    moved.target.replace(0, std::string_view("/hook").size(), "/hook/other");
    EXPECT_EQ(outcome_of(pair.captured, moved).refused.empty(), !text.has(policy::PartKind::url))
        << pair.captured.title;
  }
}

Captured captured_twilio(std::string target, std::string form) {
  const Provider twilio = test::builtin("twilio");
  const Result<SignedDelivery> delivery = sign_delivery(twilio, {.secret = "golden-secret",
                                                                 .public_url = std::string(test::public_url),
                                                                 .target = std::move(target),
                                                                 .content_type = "application/x-www-form-urlencoded",
                                                                 .body = std::move(form)});
  EXPECT_TRUE(delivery);
  Captured captured{.title = "twilio", .provider = twilio, .secret = "golden-secret", .request = {}, .now = {}};
  captured.request = {.method = "POST", .target = delivery->target, .fields = {}, .body = delivery->body};
  for (const Field& field : delivery->fields) {
    if (field.name != "I-Twilio-Idempotency-Token") captured.request.fields.emplace_back(field.name, field.value);
  }
  EXPECT_EQ(outcome_of(captured, captured.request).refused, "");
  return captured;
}

// An address and a form are signed with nothing between them. A path that takes over the beginning of the form makes no
// event of another path.
TEST(Tampering, MovesNoFormIntoThePath) {
  Captured captured = captured_twilio("/hook/a", "Body=hi&To=1");
  const Outcome genuine = outcome_of(captured, captured.request);
  Sent moved = captured.request;
  moved.target = "/hook/aBodyhi";
  moved.body = "To=1";
  const Outcome outcome = outcome_of(captured, moved);
  EXPECT_TRUE(!outcome.refused.empty() || outcome.keys == genuine.keys);
}

// Nor does an address that takes over all of it: the sender of a message can have the hash of a body of his own signed.
TEST(Tampering, MovesNoFormIntoTheQuery) {
  const std::string mine = R"({"id":"made-up"})";
  const std::string hash = core::to_hex(core::sha256(mine));
  Captured captured = captured_twilio("/hook?tenant=1", "Body=%26bodySHA256%3D" + hash + "%26x%3D&To=1");
  Sent moved = captured.request;
  moved.target = "/hook?tenant=1Body&bodySHA256=" + hash + "&x=To1";
  moved.body = mine;
  for (auto& [name, value] : moved.fields) {
    if (name == "Content-Type") value = "application/json";
  }
  EXPECT_NE(outcome_of(captured, moved).refused, "");
}

// One act of a stranger.
TEST(Tampering, MakesNoNewEvent) {
  std::size_t tried = 0;
  for (const Pair& pair : pairs()) {
    for (const Tampered& each : every_act(pair.captured, pair.other)) {
      ++tried;
      EXPECT_TRUE(is_promised(pair, each)) << pair.captured.title << ": " << each.what;
    }
  }
  EXPECT_GE(tried, 12'000U);
}

// Two acts, of which the first renames or moves things: what each of them does alone may be harmless.
TEST(Tampering, MakesNoNewEventInTwoSteps) {
  for (const Pair& pair : pairs()) {
    for (const Tampered& first : test::tampered(pair.captured, pair.other)) {
      const bool moves = first.what.find("renamed") != std::string::npos || first.touched.contains("{body}") ||
                         first.what.starts_with("without");
      if (!moves) continue;
      Captured moved = pair.captured;
      moved.request = first.request;
      std::size_t failed = 0;
      for (Tampered& second : every_act(moved, pair.other)) {
        second.touched.insert(first.touched.begin(), first.touched.end());
        if (!is_promised(pair, second) && ++failed == 1) {
          ADD_FAILURE() << pair.captured.title << ": " << first.what << ", then " << second.what;
        }
      }
    }
  }
}

}  // namespace
}  // namespace semel::webhook
