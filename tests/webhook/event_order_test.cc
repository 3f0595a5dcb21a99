// Where an event stands among those of its object.

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include "webhook/deliveries.h"
#include "webhook/event.h"
#include "webhook/event_batch.h"

namespace semel::webhook {
namespace {

using test::builtin;
using test::Sent;

Provider provider(std::string_view event) {
  const std::string text =
      "[[signature]]\nfrom = '{header:S}'\nsigns = '{body}'\n[event]\nid = '{json:/id}'\n" + std::string(event) + "\n";
  auto loaded = parse_provider(text, "own", "own.toml");
  if (!loaded) ADD_FAILURE() << reading::to_text(loaded.error().front());
  return loaded ? std::move(loaded->provider) : Provider{};
}

constexpr EventPlace place{.space = "webhook:/h", .key_from = nullptr, .ordered = true};

policy::Identity identity(const Provider& rules, Sent request, const EventPlace& where = place) {
  return std::get<policy::Identity>(identify_event(rules, where, {.scheme = 0}, request.view()));
}

Sent about(std::string_view object, std::string_view stamp, std::string_view id = "1") {
  return {.body = R"({"id":")" + std::string(id) + R"(","object":")" + std::string(object) + R"(","at":)" +
                  std::string(stamp) + "}"};
}

// Events of one object share its key and their home; stamps compare as the provider's file says.
TEST(EventOrder, IsPerObject) {
  const Provider rules = provider("object = '{json:/object}'\norder = '{json:/at}'");
  const policy::Identity nine = identity(rules, about("a", "9", "1"));
  const policy::Identity ten = identity(rules, about("a", "10", "2"));
  const policy::Identity other = identity(rules, about("b", "10", "3"));
  ASSERT_TRUE(nine.order && ten.order && other.order);
  EXPECT_EQ(nine.order->object, ten.order->object);
  EXPECT_NE(nine.order->object, other.order->object);
  EXPECT_LT(nine.order->stamp, ten.order->stamp);
  EXPECT_NE(nine.key.home, 0U);
  EXPECT_EQ(nine.key.home, ten.key.home);
  EXPECT_EQ(nine.key.home, nine.order->object.home);
  EXPECT_NE(nine.key.home, other.key.home);
  EXPECT_NE(nine.key, nine.order->object);
}

// Being ordered changes nothing about what an event is called, so that it can be switched on.
TEST(EventOrder, LeavesTheKeyAsItIs) {
  const Provider rules = provider("object = '{json:/object}'\norder = '{json:/at}'");
  const policy::Identity plain = identity(rules, about("a", "9"), {.space = "webhook:/h", .key_from = nullptr});
  EXPECT_EQ(plain.order, nullptr);
  EXPECT_EQ(plain.key.home, 0U);
  EXPECT_EQ(plain.key, identity(rules, about("a", "9")).key);
}

// Objects of two webhooks, of two paths, or under another rule are different objects.
TEST(EventOrder, KeepsObjectsApart) {
  const Provider rules = provider("object = '{json:/object}'\norder = '{json:/at}'");
  const policy::Identity one = identity(rules, about("a", "9"));
  Sent elsewhere = about("a", "9");
  elsewhere.target = "/other";
  EXPECT_NE(one.order->object, identity(rules, elsewhere).order->object);
  const EventPlace second{.space = "webhook:/i", .key_from = nullptr, .ordered = true};
  EXPECT_NE(one.order->object, identity(rules, about("a", "9"), second).order->object);
  const Provider text = provider("object = '{json:/object}'\norder = '{json:/at}'\norder_form = 'text'");
  EXPECT_NE(one.order->object, identity(text, about("a", "9")).order->object) << "stamps of two kinds never meet";
}

// An event that says nothing of its order, or nothing that can be read, is an event without order.
TEST(EventOrder, IsLeftOutWhereItCannotBeHad) {
  const Provider rules = provider("object = '{json:/object}'\norder = '{json:/at}'\norder_form = 'rfc3339'");
  EXPECT_NE(identity(rules, about("a", R"("2024-03-01T08:00:00Z")")).order, nullptr);
  for (const std::string body : {R"({"id":"1","at":"2024-03-01T08:00:00Z"})", R"({"id":"1","object":"a"})",
                                 R"({"id":"1","object":"a","at":"soon"})", R"({"id":"1","object":"a","at":null})"}) {
    const policy::Identity unplaced = identity(rules, Sent{.body = body});
    EXPECT_EQ(unplaced.order, nullptr) << body;
    EXPECT_EQ(unplaced.key.home, 0U);
  }
}

// Every provider that says something of order has stamps that can be read in the form that it names.
TEST(EventOrder, CanBeReadOfRecordedDeliveries) {
  int ordered = 0;
  for (test::Recorded& each : test::recorded_deliveries()) {
    const Provider rules = builtin(each.provider);
    if (!rules.event.order || rules.event.items || !rules.event.deduplicate) continue;
    const auto value = policy::evaluate(*rules.event.order, each.request.view());
    if (!value) continue;  // not every recorded body has it
    EXPECT_TRUE(core::stamp_of(*value, rules.event.order_form).has_value()) << each.title << ": " << *value;
    ++ordered;
  }
  EXPECT_GE(ordered, 3);
}

// Events of a batch are claimed object by object, so that two deliveries meet in the same order.
TEST(EventOrder, GroupsABatchByObject) {
  const Provider rules = builtin("hubspot");
  Sent request{.body = "["};
  for (int i = 0; i < 12; ++i) {
    request.body += R"({"portalId":1,"subscriptionId":1,"eventId":)" + std::to_string(i) + R"(,"objectId":)" +
                    std::to_string(i % 3) + R"(,"occurredAt":)" + std::to_string(i) + "},";
  }
  request.body.back() = ']';
  const EventBatch batch = std::get<EventBatch>(split_batch(rules, place, Authentic{}, request.view()));
  ASSERT_EQ(batch.identities.size(), 12U);
  int changes = 0;
  for (std::size_t i = 1; i < 12; ++i) {
    ASSERT_NE(batch.identities[i].order, nullptr);
    changes += batch.identities[i].order->object == batch.identities[i - 1].order->object ? 0 : 1;
  }
  EXPECT_EQ(changes, 2);
}

}  // namespace
}  // namespace semel::webhook
