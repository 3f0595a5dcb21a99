// What names an event, and what is compared beside its name.
#include "webhook/event.h"

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "webhook/deliveries.h"

namespace semel::webhook {
namespace {

using test::builtin;
using test::Recorded;
using test::recorded_deliveries;
using test::Sent;

Provider provider(std::string_view event, std::string_view signs = "{body}") {
  const std::string text =
      "[[signature]]\nfrom = '{header:S}'\nsigns = '" + std::string(signs) + "'\n[event]\n" + std::string(event) + "\n";
  auto loaded = parse_provider(text, "own", "own.toml");
  if (!loaded) ADD_FAILURE() << reading::to_text(loaded.error().front());
  return loaded ? std::move(loaded->provider) : Provider{};
}

policy::Identified identified(const Provider& rules, Sent request) {
  return identify_event(rules, {.space = "webhook:/h", .key_from = nullptr}, {.scheme = 0, .signed_text = "signed"},
                        request.view());
}
policy::Identity identity(const Provider& rules, const Sent& request) {
  return std::get<policy::Identity>(identified(rules, request));
}

// Every provider that is compiled in can name the events that it sends.
TEST(Events, HaveAKeyAtEveryProvider) {
  std::set<std::string> named;
  for (Recorded& each : recorded_deliveries()) {
    const Provider rules = builtin(each.provider);
    Sent request = each.request;
    const bool batch = rules.event.items.has_value();
    if (batch) request.body = request.body.substr(request.body.find('[') + 1);
    if (batch) request.body.resize(request.body.rfind(']'));
    const policy::Identified found = identified(rules, request);
    if (rules.event.deduplicate ? std::holds_alternative<policy::Identity>(found)
                                : std::holds_alternative<policy::Keyless>(found)) {
      named.insert(each.provider);
    }
  }
  for (const ProviderFile& file : builtin_providers()) {
    const bool elsewhere = fetches_keys(builtin(file.name).schemes.front().algorithm);  // fetched_keys_test.cc
    EXPECT_TRUE(named.contains(std::string(file.name)) || elsewhere) << file.name;
  }
}

// The first id that is there is the key; the one behind it is for deliveries that lack the first.
TEST(Events, TakeTheFirstIdThatIsThere) {
  const Provider rules = provider("id = ['{header:Id}', '{json:/id}']");
  const Sent both{.fields = {{"Id", "a"}}, .body = R"({"id":"b"})"};
  const Sent second{.fields = {}, .body = R"({"id":"b"})"};
  EXPECT_EQ(identity(rules, both).key_text, "a");
  EXPECT_EQ(identity(rules, second).key_text, "b");
  EXPECT_EQ(std::get<policy::Refusal>(identified(rules, Sent{.body = "{}"})).problem.type, ProblemType::key_missing);
}

// An id that is there twice is refused, and not passed over for the next one.
TEST(Events, RefuseAnAmbiguousId) {
  const Provider rules = provider("id = ['{header:Id}', '{json:/id}']");
  const Sent twice{.fields = {{"Id", "a"}, {"Id", "b"}}, .body = R"({"id":"b"})"};
  EXPECT_EQ(std::get<policy::Refusal>(identified(rules, twice)).problem.type, ProblemType::key_invalid);
}

// Several parts make one key, and cannot be shifted from one part into the next.
TEST(Events, KeepThePartsOfAnIdApart) {
  const Provider rules = provider("id = '{json:/a}:{json:/b}'");
  const policy::Identity one = identity(rules, Sent{.body = R"({"a":"x:y","b":"z"})"});
  const policy::Identity other = identity(rules, Sent{.body = R"({"a":"x","b":"y:z"})"});
  EXPECT_NE(one.key, other.key);
  EXPECT_EQ(one.key, identity(rules, Sent{.body = R"({"b":"z", "a":"x:y", "attempt":2})"}).key);
}

// A long id, or one that is not ASCII, is a key all the same.
TEST(Events, TakeAnyIdAsAKey) {
  const Provider rules = provider("id = '{json:/id}'");
  const policy::Identity one = identity(rules, Sent{.body = "{\"id\":\"" + std::string(5'000, 'a') + "\"}"});
  const policy::Identity other = identity(rules, Sent{.body = "{\"id\":\"" + std::string(5'001, 'a') + "\"}"});
  EXPECT_NE(one.key, other.key);
  EXPECT_NE(identity(rules, Sent{.body = R"({"id":"é"})"}).key, one.key);
}

// Under an id that is signed, any body is the same event; under one that is not, another body is another request.
TEST(Events, CompareTheBodyWhereTheIdIsNotSigned) {
  const Provider with_id = provider("id = '{header:Id}'", "{header:Id}.{body}");
  const Provider without = provider("id = '{header:Id}'");
  const Sent first{.fields = {{"Id", "a"}}, .body = R"({"attempt":1})"};
  const Sent second{.fields = {{"Id", "a"}}, .body = R"({"attempt":2})"};
  EXPECT_EQ(identity(with_id, first).fingerprint, identity(with_id, second).fingerprint);
  EXPECT_NE(identity(without, first).fingerprint, identity(without, second).fingerprint);
  EXPECT_EQ(identity(without, first).key, identity(without, second).key);
  EXPECT_EQ(identity(without, first).fingerprint, identity(without, first).fingerprint);
}

// A key that the endpoint chose is judged like the provider's: if it is not signed, another body is another request.
TEST(Events, CompareTheBodyUnderAnUnsignedKeyOfTheEndpoint) {
  const Provider rules = provider("id = '{json:/id}'");
  const policy::Expression own = policy::expression("{header:Own}");
  const policy::Expression covered = policy::expression("{json:/other}");
  const auto fingerprint_of = [&](std::string_view body, const policy::Expression& key) {
    Sent request{.fields = {{"Own", "a"}}, .body = std::string(body)};
    return std::get<policy::Identity>(
               identify_event(rules, {.space = "webhook:/h", .key_from = &key}, {.scheme = 0}, request.view()))
        .fingerprint;
  };
  EXPECT_NE(fingerprint_of(R"({"id":1})", own), fingerprint_of(R"({"id":2})", own));
  EXPECT_EQ(fingerprint_of(R"({"id":1,"other":3})", covered), fingerprint_of(R"({"id":2,"other":3})", covered));
}

// An event is named by the scheme that verified it; the headers of another scheme say nothing.
TEST(Events, AreNamedByTheSchemeThatVerifiedThem) {
  const Provider rules = builtin("svix");
  Sent request{.fields = {{"svix-id", "forged"}, {"webhook-id", "signed"}}, .body = "{}"};
  const auto name_by = [&](std::size_t scheme) {
    return std::get<policy::Identity>(
               identify_event(rules, {.space = "webhook:/h", .key_from = nullptr}, {.scheme = scheme}, request.view()))
        .key_text;
  };
  EXPECT_EQ(name_by(0), "forged");
  EXPECT_EQ(name_by(1), "signed");
}

// What changes from attempt to attempt can be left out of the comparison.
TEST(Events, LeaveOutWhatDiffersBetweenAttempts) {
  const Provider rules = provider("id = '{json:/id}'\nignore = ['/attempt']", "{header:Nonce}");
  const Sent first{.body = R"({"id":1,"attempt":1,"amount":5})"};
  const Sent second{.body = R"({"id":1,"attempt":2,"amount":5})"};
  const Sent other{.body = R"({"id":1,"attempt":2,"amount":6})"};
  const auto fingerprint_of = [&](const Sent& sent) { return identity(rules, sent).fingerprint; };
  EXPECT_EQ(fingerprint_of(first), fingerprint_of(second));
  EXPECT_NE(fingerprint_of(first), fingerprint_of(other));
}

// The endpoints of a pattern are as many endpoints as there are paths, and each webhook has keys of its own.
TEST(Events, AreKeptApartByPathAndWebhook) {
  const Provider rules = provider("id = '{json:/id}'");
  Sent one{.target = "/h/a?x=1", .body = R"({"id":"1"})"};
  Sent other{.target = "/h/b", .body = R"({"id":"1"})"};
  EXPECT_NE(identity(rules, one).key, identity(rules, other).key);
  EXPECT_EQ(identity(rules, one).key, identity(rules, Sent{.target = "/h/a", .body = R"({"id":"1"})"}).key);
  const policy::Identified elsewhere =
      identify_event(rules, {.space = "webhook:/i", .key_from = nullptr}, {.scheme = 0}, one.view());
  EXPECT_NE(std::get<policy::Identity>(elsewhere).key, identity(rules, one).key);
}

// A form is written anew for every attempt; the event in it is the same, and another JSON under its name is not.
TEST(Events, InAFormAreThoseOfItsJson) {
  const auto form = [](std::string_view boundary, std::string_view message) {
    const std::string json = R"({"event":{"event_type":"signature_request_viewed","event_time":"1700000000",)"
                             R"("event_metadata":{"event_message":")" +
                             std::string(message) + R"("}},"signature_request":{"signature_request_id":"s"}})";
    const std::string line = "--" + std::string(boundary);
    return Sent{
        .fields = {{"Content-Type", "multipart/form-data; boundary=" + std::string(boundary)}},
        .body = line + "\r\nContent-Disposition: form-data; name=\"json\"\r\n\r\n" + json + "\r\n" + line + "--\r\n"};
  };
  const Provider rules = builtin("dropbox-sign");
  EXPECT_EQ(identity(rules, form("a1", "x")).key, identity(rules, form("b2", "x")).key);
  EXPECT_EQ(identity(rules, form("a1", "x")).fingerprint, identity(rules, form("b2", "x")).fingerprint);
  EXPECT_EQ(identity(rules, form("a1", "x")).key, identity(rules, form("a1", "y")).key);
  EXPECT_NE(identity(rules, form("a1", "x")).fingerprint, identity(rules, form("a1", "y")).fingerprint);
  Sent request = form("a1", "x");
  EXPECT_EQ(describe_event(rules, request.view()).object, "s");
}

// A body that is no such form, or has the JSON where only some programs look, has no event in it.
TEST(Events, AreNotLookedForInOddForms) {
  const Provider rules = builtin("dropbox-sign");
  const std::string json = R"({"event":{"event_type":"t","event_time":"1700000000"}})";
  const std::string head = "--b\r\nContent-Disposition: form-data; name=\"json\"";
  const std::string part = head + "\r\n\r\n" + json + "\r\n";
  const auto has_event = [&](std::string_view type, const std::string& body) {
    return std::holds_alternative<policy::Identity>(
        identified(rules, Sent{.fields = {{"Content-Type", std::string(type)}}, .body = body}));
  };
  EXPECT_TRUE(has_event("multipart/form-data; boundary=b", part + "--b--\r\n"));
  EXPECT_FALSE(has_event("application/json", json));
  EXPECT_FALSE(has_event("multipart/form-data; boundary=b", json));
  EXPECT_FALSE(has_event("multipart/form-data; boundary=b", part + part + "--b--\r\n"));
  EXPECT_FALSE(has_event("multipart/form-data; boundary=b", part + "--b--\r\n" + part));
  EXPECT_FALSE(
      has_event("multipart/form-data; boundary=b", head + "; filename=\"x\"\r\n\r\n" + json + "\r\n--b--\r\n"));
}

// Participants of a Zoom meeting that ends leave it in the same millisecond; each of these events is one.
TEST(Events, OfZoomAreThoseOfTheirParticipants) {
  const auto left = [](std::string_view user) {
    return Sent{.body = R"({"event":"meeting.participant_left","event_ts":1700000000000,"payload":{"object":)"
                        R"({"uuid":"m","id":"1","participant":{"user_id":")" +
                        std::string(user) + R"("}}}})"};
  };
  EXPECT_NE(identity(builtin("zoom"), left("16778240")).key, identity(builtin("zoom"), left("16779264")).key);
  EXPECT_EQ(identity(builtin("zoom"), left("16778240")).key, identity(builtin("zoom"), left("16778240")).key);
}

// Where nothing names an event, every delivery is handed on; the endpoint may have a key of its own all the same.
TEST(Events, WithoutAnIdAreNotDeduplicated) {
  const Provider rules = provider("deduplicate = false");
  Sent request{.body = R"({"item":"1"})"};
  EXPECT_TRUE(std::holds_alternative<policy::Keyless>(identified(rules, request)));
  const policy::Expression own = policy::expression("{json:/item}");
  const policy::Identified keyed =
      identify_event(rules, {.space = "webhook:/h", .key_from = &own}, {.scheme = 0}, request.view());
  EXPECT_EQ(std::get<policy::Identity>(keyed).key_text, "1");
}

// The log is told the type and the object, as far as there are any.
TEST(Events, AreDescribedForTheLog) {
  const Provider rules = builtin("stripe");
  Sent request{.body = R"({"id":"evt_1","type":"invoice.paid","data":{"object":{"id":"in_1"}}})"};
  EXPECT_EQ(describe_event(rules, request.view()).type, "invoice.paid");
  EXPECT_EQ(describe_event(rules, request.view()).object, "in_1");
  Sent bare{.body = R"({"type":")" + std::string(101, 'x') + R"("})"};
  EXPECT_EQ(describe_event(rules, bare.view()).type, "");
  EXPECT_EQ(describe_event(rules, bare.view()).object, "");
}

}  // namespace
}  // namespace semel::webhook
