// Filters, targets and signatures: what a destination gets, where, and how it can tell.
#include "inbox/filter.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/crypto.h"
#include "core/encoding.h"
#include "inbox/destination.h"

namespace semel::inbox {
namespace {

constexpr std::string_view body = R"({"id":"evt_1","livemode":false,"data":{"amount":12,"plan":"pro"}})";

EventView event() {
  static const std::vector<FieldView> fields{{.name = "Content-Type", .value = "application/json"},
                                             {.name = "X-Region", .value = "eu"}};
  EventView view{.request = {}, .type = "customer.created", .object = "cus/1"};
  view.request.method = "POST";
  policy::set_target(view.request, "/hooks/stripe?x=1");
  view.request.fields = fields;
  view.request.body = body;
  return view;
}

bool takes(std::string_view text) {
  const auto filter = EventFilter::parse(text);
  EXPECT_TRUE(filter.has_value()) << text << ": " << filter.error().message;
  return filter && filter->takes(event());
}

// Each test, and what holds of a part that the event lacks.
TEST(InboxFilter, ComparesPartsWithTexts) {
  const std::vector<std::pair<const char*, bool>> rows{
      {"{type} = 'customer.created'", true},  {"{type} = 'customer'", false},
      {"{type} != 'customer'", true},         {"{type} ^= 'customer.'", true},
      {"{type} ^= 'invoice.'", false},        {"{type} in ['a', 'customer.created']", true},
      {"{type} in ['a','b']", false},         {"{object} exists", true},
      {"{json:/data/plan} = 'pro'", true},    {"{json:/data/amount} = '12'", true},
      {"{json:/data/none} exists", false},    {"{json:/data/none} = ''", false},
      {"{json:/data/none} != 'x'", true},     {"{json:/data/none} ^= ''", false},
      {"not {json:/data/none} exists", true}, {"{header:X-Region} = 'eu'", true},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(takes(text), expected) << text;
}

// `not` binds closest, then `and`, then `or`; parentheses come first.
TEST(InboxFilter, JoinsTestsInTheUsualOrder) {
  const std::vector<std::pair<const char*, bool>> rows{
      {"{type} = 'x' and {type} = 'y' or {type} ^= 'customer'", true},
      {"{type} = 'x' and ({type} = 'y' or {type} ^= 'customer')", false},
      {"{type} ^= 'customer' or {type} = 'x' and {type} = 'y'", true},
      {"not {type} = 'x' and {type} ^= 'c'", true},
      {"not ({type} ^= 'c' or {type} = 'x')", false},
      {"not not {type} ^= 'c'", true},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(takes(text), expected) << text;
}

// What is wrong is said, with the byte at which it begins.
TEST(InboxFilter, SaysWhatIsWrongAndWhere) {
  const std::vector<std::pair<const char*, std::size_t>> rows{
      {"", 0},
      {"type = 'a'", 0},
      {"{type} 'a'", 7},
      {"{type} = a", 9},
      {"{type} = 'a", 9},
      {"{type} in 'a'", 10},
      {"{type} in ['a'", 14},
      {"({type} exists", 14},
      {"{type} exists {type} exists", 14},
      {"{type} exists and", 17},
      {"{nonsense:x} exists", 0},
      {"{type", 0},
  };
  for (const auto& [text, offset] : rows) {
    const auto filter = EventFilter::parse(text);
    ASSERT_FALSE(filter.has_value()) << text;
    EXPECT_EQ(filter.error().offset, offset) << text << ": " << filter.error().message;
    EXPECT_FALSE(filter.error().message.empty());
  }
  const std::string deep = std::string(100, '(') + "{type} exists" + std::string(100, ')');
  EXPECT_FALSE(EventFilter::parse(deep).has_value());
}

// A target is made of the event; what is not plain is encoded, so that no event reaches another path.
TEST(InboxTarget, IsMadeOfTheEvent) {
  const auto render = [](std::string_view text) {
    const auto target = HandlerTarget::parse(text);
    EXPECT_TRUE(target.has_value()) << text;
    return target ? target->render(event()) : std::nullopt;
  };
  EXPECT_EQ(render(""), "/hooks/stripe?x=1");
  EXPECT_EQ(render("/handlers/{type}"), "/handlers/customer.created");
  EXPECT_EQ(render("/o/{object}?id={json:/id}"), "/o/cus%2f1?id=evt_1");
  EXPECT_EQ(render("/o/{json:/none}"), std::nullopt);
  for (const char* bad : {"handlers", "/a b", "/{type", "/{nonsense:x}"}) {
    EXPECT_FALSE(HandlerTarget::parse(bad).has_value()) << bad;
  }
}

// The signature is that of Standard Webhooks: over id, time and body, anew for each attempt.
TEST(InboxSignature, IsThatOfStandardWebhooks) {
  constexpr Time now{Millis{1'614'265'330'000}};
  // The example of the specification.
  const reading::Secret secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  const AttemptSignature made = sign_attempt(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", R"({"test": 2432232314})", now);
  EXPECT_EQ(made.timestamp, "1614265330");
  EXPECT_EQ(made.signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  EXPECT_NE(sign_attempt(secret, made.id, "{}", now).signature, made.signature);
}

}  // namespace
}  // namespace semel::inbox
