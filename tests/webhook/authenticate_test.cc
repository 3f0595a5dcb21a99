// Deliveries of every provider: the authentic one, and what becomes of it when anything about it is not.
#include "webhook/authenticate.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "support/places.h"
#include "webhook/deliveries.h"
#include "webhook/sign.h"

namespace semel::webhook {
namespace {

using test::builtin;
using test::lock_of;
using test::Recorded;
using test::recorded_deliveries;
using test::Sent;
using test::verdict;

// The same request with one character of the signature altered, wherever the signature stands.
Sent with_altered_signature(const Recorded& recorded) {
  std::string altered = recorded.signature;
  char& middle = altered[altered.size() / 2];
  middle = middle == 'a' ? 'b' : 'a';
  Sent request = recorded.request;
  const auto replace = [&](std::string& text) {
    const std::size_t at = text.find(recorded.signature);
    if (at != std::string::npos) text.replace(at, altered.size(), altered);
  };
  for (auto& [name, value] : request.fields) replace(value);
  replace(request.body);
  replace(request.target);
  return request;
}

std::string other_secret(const Recorded& recorded) {
  std::string other = recorded.secret;
  char& near_end = other[other.size() - 3];
  near_end = near_end == 'a' ? 'b' : 'a';
  return other;
}

// Every file that is compiled in is the one in the folder, can be read, and has nothing unwise in it.
TEST(BuiltinProviders, AreTheFilesOfTheFolder) {
  EXPECT_GE(builtin_providers().size(), 41U);
  for (const ProviderFile& file : builtin_providers()) {
    std::ifstream source(test::in_tree(std::string("providers/").append(file.name) + ".toml"));
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(source), {}), file.text) << file.name;
    const auto loaded = parse_provider(file.text, file.name, file.name);
    for (const reading::Issue& issue : loaded ? loaded->warnings : loaded.error())
      ADD_FAILURE() << reading::to_text(issue);
  }
}

// No provider is shipped without a delivery that shows that its file is right.
TEST(BuiltinProviders, AllHaveARecordedDelivery) {
  std::set<std::string, std::less<>> recorded;
  for (const Recorded& each : recorded_deliveries()) recorded.insert(each.provider);
  for (const ProviderFile& file : builtin_providers()) {
    const bool elsewhere = fetches_keys(builtin(file.name).schemes.front().algorithm);  // fetched_keys_test.cc
    EXPECT_TRUE(recorded.contains(file.name) || elsewhere) << file.name;
  }
}

// What the providers' own libraries made is authentic, whichever place the right secret has among several.
TEST(Authenticate, TakesAuthenticDeliveries) {
  for (Recorded& each : recorded_deliveries()) {
    const Provider provider = builtin(each.provider);
    EXPECT_EQ(verdict(provider, lock_of(provider, {each.secret}), each.request, each.now), "authentic") << each.title;
    const Lock rotated = lock_of(provider, {other_secret(each), each.secret});
    const auto authentic = authenticate(provider, rotated, each.request.view(), each.now);
    ASSERT_TRUE(authentic) << each.title;
    EXPECT_EQ(authentic->secret, 1U) << each.title;
  }
}

// A body that was altered by one byte is not what was signed, where bodies are signed at all.
TEST(Authenticate, RefusesAnAlteredBody) {
  for (Recorded& each : recorded_deliveries()) {
    const Provider provider = builtin(each.provider);
    std::string& body = each.request.body;
    const std::size_t at = each.alter.empty() ? body.size() / 2 : body.find(each.alter);
    body[at] = body[at] == 'x' ? 'y' : 'x';
    const std::string got = verdict(provider, lock_of(provider, {each.secret}), each.request, each.now);
    EXPECT_EQ(got == "authentic", !each.body_signed) << each.title << ": " << got;
  }
}

// A signature with one character altered is nobody's.
TEST(Authenticate, RefusesAnAlteredSignature) {
  for (const Recorded& each : recorded_deliveries()) {
    const Provider provider = builtin(each.provider);
    Sent request = with_altered_signature(each);
    EXPECT_NE(verdict(provider, lock_of(provider, {each.secret}), request, each.now), "authentic") << each.title;
  }
}

// Somebody else's secret signs nothing of ours.
TEST(Authenticate, RefusesAnotherSecret) {
  for (Recorded& each : recorded_deliveries()) {
    const Provider provider = builtin(each.provider);
    EXPECT_EQ(verdict(provider, lock_of(provider, {other_secret(each)}), each.request, each.now), "mismatch")
        << each.title;
    EXPECT_EQ(verdict(provider, lock_of(provider, {}), each.request, each.now), "mismatch") << each.title;
  }
}

// A delivery without its signature is missing one.
TEST(Authenticate, RefusesADeliveryWithoutASignature) {
  for (Recorded& each : recorded_deliveries()) {
    const Provider provider = builtin(each.provider);
    each.request.fields.clear();
    each.request.target = "/hook";
    each.request.body = R"({"notificationItems":[{}],"a":1})";
    EXPECT_EQ(verdict(provider, lock_of(provider, {each.secret}), each.request, each.now), "missing") << each.title;
  }
}

// The scheme that takes this delivery.
const SignatureScheme& scheme_of(const Provider& provider, Recorded& each) {
  const auto authentic = authenticate(provider, lock_of(provider, {each.secret}), each.request.view(), each.now);
  return provider.schemes.at(authentic.value().scheme);
}

// What is signed too long ago is stale, and so is what claims to be from the future; at the very edge it still counts.
TEST(Authenticate, RefusesWhatIsOutsideOfTheWindow) {
  std::size_t windows = 0;
  for (Recorded& each : recorded_deliveries()) {
    const Provider provider = builtin(each.provider);
    const Millis tolerance = scheme_of(provider, each).tolerance;
    if (tolerance == Millis{0}) continue;
    ++windows;
    const Lock lock = lock_of(provider, {each.secret});
    const Time signed_at = each.now - Millis{2'000};  // but for fractions of a second
    const Millis second{1'000};
    EXPECT_EQ(verdict(provider, lock, each.request, signed_at + tolerance), "authentic") << each.title;
    EXPECT_EQ(verdict(provider, lock, each.request, signed_at + tolerance + second), "stale") << each.title;
    EXPECT_EQ(verdict(provider, lock, each.request, signed_at - tolerance - second), "stale") << each.title;
  }
  EXPECT_GE(windows, 15U);
}

// A time that is signed is checked, at every provider that signs one: nothing is authentic for ever that has a date.
TEST(Authenticate, ChecksEveryTimeThatIsSigned) {
  std::set<std::string> checked;
  for (Recorded& each : recorded_deliveries()) {
    const Provider provider = builtin(each.provider);
    const Lock lock = lock_of(provider, {each.secret});
    const bool stale = verdict(provider, lock, each.request, each.now + std::chrono::hours(24 * 30)) == "stale";
    if (stale) checked.insert(each.provider);
    EXPECT_EQ(stale, scheme_of(provider, each).timestamp.has_value()) << each.title;
  }
  for (const std::string_view name : {"mailgun", "zendesk", "stripe"}) {
    EXPECT_TRUE(checked.contains(std::string(name))) << name;
  }
}

// The configuration may set a window of its own.
TEST(Authenticate, TakesTheToleranceOfTheEndpoint) {
  Recorded stripe = recorded_deliveries().front();
  const Provider provider = builtin("stripe");
  Lock lock = lock_of(provider, {stripe.secret});
  lock.tolerance = Millis{1'000};
  EXPECT_EQ(verdict(provider, lock, stripe.request, stripe.now), "stale");
  lock.tolerance = Millis{0};
  EXPECT_EQ(verdict(provider, lock, stripe.request, stripe.now + std::chrono::hours(48)), "authentic");
}

struct Odd {
  std::string header;
  std::string_view verdict;
};

// Headers that no provider sends are refused for what they are; none of them takes long or breaks anything.
TEST(Authenticate, RefusesOddHeaders) {
  const std::string good = "v1=83c8c1691a8397c211d6cbfb69ab1525df021f97e43bd353deb8f2e93c183071";
  std::string many = "t=1700000000";
  for (int i = 0; i < 10'000; ++i) many += ",v1=00";
  const std::vector<Odd> cases{
      {"", "malformed"},
      {",", "malformed"},
      {",,,,", "malformed"},
      {"t=1700000000", "malformed"},
      {good, "malformed"},
      {"t=1700000000 " + good, "malformed"},
      {"t=1700000000,t=1700000000," + good, "malformed"},
      {"t=," + good, "malformed"},
      {"t=1700000000abc," + good, "malformed"},
      {"t=-1700000000," + good, "malformed"},
      {"t=+1700000000," + good, "malformed"},
      {"t=1.7e9," + good, "malformed"},
      {"t=99999999999999999999999," + good, "malformed"},
      {"t=1700000000,v1=", "malformed"},
      {"t=1700000000,v1=zz", "malformed"},
      {"t=1700000000,v1=83c", "malformed"},
      {"t=1700000000,v1=83", "mismatch"},
      {"t=1700000000,v0=83c8c1691a8397c211d6cbfb69ab1525df021f97e43bd353deb8f2e93c183071", "malformed"},
      {many, "malformed"},
      {many + "," + good, "malformed"},
      {std::string(8'000, ','), "malformed"},
      {"t=1700000000, " + good, "authentic"},
      {"t=1700000000,v1=00," + good + ",v1=zz", "authentic"},
  };
  const Recorded stripe = recorded_deliveries().front();
  const Provider provider = builtin("stripe");
  const Lock lock = lock_of(provider, {stripe.secret});
  for (const Odd& each : cases) {
    Sent request = stripe.request;
    request.fields = {{"Stripe-Signature", each.header}};
    EXPECT_EQ(verdict(provider, lock, request, stripe.now), each.verdict) << each.header.substr(0, 100);
  }
}

// A public key is not a secret: as one, it opens nothing.
TEST(Authenticate, DoesNotTakeAPublicKeyForASecret) {
  const Provider provider = builtin("standard-webhooks");
  const Lock lock = lock_of(provider, {"whpk_qZt+tLOzJqbjuyddV73pEsJ8HmF7NoOA56lqEJ2BF6o="});
  EXPECT_FALSE(lock.keys.at(0).at(0));
  EXPECT_TRUE(lock.keys.at(1).at(0));
  EXPECT_FALSE(make_secret_key(reading::Secret("whsec_Z29sZGVu"), KeyForm::whpk));
}

// A signature of an address is of the one that was configured, with its port or without.
TEST(Authenticate, TriesTheAddressWithAndWithoutItsPort) {
  for (Recorded& each : recorded_deliveries()) {
    if (each.provider != "twilio") continue;
    const Provider provider = builtin("twilio");
    const std::vector<reading::Secret> secrets{reading::Secret(each.secret)};
    const auto verdict_at = [&](std::string_view url) {
      return verdict(provider, make_lock(provider, secrets, url, std::nullopt), each.request, each.now);
    };
    EXPECT_EQ(verdict_at("https://gw.example.com:443"), "authentic");
    EXPECT_EQ(verdict_at("https://gw.example.com/"), "authentic");
    EXPECT_EQ(verdict_at("http://gw.example.com"), "mismatch");
    EXPECT_EQ(verdict_at("https://other.example.com"), "mismatch");
  }
}

// A form of any number of fields costs a stranger little to send, so their number has a limit.
TEST(Authenticate, LimitsTheFieldsOfAForm) {
  const Provider provider = builtin("twilio");
  const auto verdict_on = [&](std::size_t fields) {
    webhook::SignOrder order{.secret = "s", .public_url = std::string(test::public_url), .target = "/h"};
    order.content_type = "application/x-www-form-urlencoded";
    for (std::size_t i = 0; i < fields; ++i) order.body += "a" + std::to_string(i) + "=1&";
    const Result<webhook::SignedDelivery> made = sign_delivery(provider, order);
    Sent request{.target = "/h", .fields = {{"Content-Type", order.content_type}, {"X-Twilio-Signature", "AAAA"}}};
    request.body = order.body;
    if (made) request.fields[1].second = made->fields.back().value;
    return verdict(provider, lock_of(provider, {"s"}), request, Time{});
  };
  EXPECT_EQ(verdict_on(1'000), "authentic");
  EXPECT_NE(verdict_on(1'001), "authentic");
}

// In a batch whose items are signed one by one, one forged item spoils all.
TEST(Authenticate, WantsEveryItemOfABatchSigned) {
  for (Recorded& each : recorded_deliveries()) {
    if (each.title != "adyen") continue;
    const Provider provider = builtin("adyen");
    const Lock lock = lock_of(provider, {each.secret});
    std::string& body = each.request.body;
    const std::string item = body.substr(body.find('[') + 1, body.rfind(']') - body.find('[') - 1);
    body.insert(body.rfind(']'), "," + item);
    EXPECT_EQ(verdict(provider, lock, each.request, each.now), "authentic");
    body.replace(body.rfind("AUTHORISATION"), 13, "CANCELLATION_");
    EXPECT_EQ(verdict(provider, lock, each.request, each.now), "mismatch");
    body = R"({"notificationItems":[]})";
    EXPECT_EQ(verdict(provider, lock, each.request, each.now), "malformed");
  }
}

// A member that is signed as nothing because it was left out cannot be added, in whatever form a handler might read.
TEST(Authenticate, TakesNoObjectForAMemberThatIsLeftOut) {
  for (Recorded& each : recorded_deliveries()) {
    if (each.title != "adyen") continue;
    const Provider provider = builtin("adyen");
    const Lock lock = lock_of(provider, {each.secret});
    constexpr std::string_view left_out = R"("originalReference":"")";
    const std::string body = each.request.body;
    const std::size_t at = body.find(left_out);
    ASSERT_NE(at, std::string::npos);
    const auto with = [&](std::string_view value) {
      each.request.body = body;
      each.request.body.replace(at, left_out.size(), R"("originalReference":)" + std::string(value));
      return verdict(provider, lock, each.request, each.now);
    };
    EXPECT_EQ(with("null"), "authentic");
    EXPECT_EQ(with(R"("")"), "authentic");
    EXPECT_EQ(with(R"("forged")"), "mismatch");
    EXPECT_EQ(with(R"(["forged"])"), "malformed");
    EXPECT_EQ(with(R"({"toString":"forged"})"), "malformed");
    EXPECT_EQ(with(R"("","originalReference":"forged")"), "malformed");
  }
}

}  // namespace
}  // namespace semel::webhook
