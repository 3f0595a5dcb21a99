// An effect is accepted once under its key, with what its attempts need; or it is kept as dead.
#include "gateway/effect.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "config/config.h"
#include "gateway/dispatcher.h"
#include "gateway/plan.h"
#include "gateway/world.h"
#include "inbox/destination.h"
#include "reading/address.h"
#include "store/capable_store.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "store/memory.h"
#include "support/run.h"
#include "telemetry/inbox_metrics.h"
#include <semel/clock.h>
#include <semel/derived_key.h>
#include <semel/key.h>
#include <semel/response.h>

namespace semel::gateway {
namespace {

using store::DeliveryState;

config::Config with_a_mailer() {
  config::Config config;
  config::UpstreamConfig upstream;
  upstream.name = "mail";
  upstream.urls.push_back(reading::parse_url("http://127.0.0.1:9").value());
  config.upstreams.push_back(upstream);
  inbox::Destination mailer;
  mailer.name = "mailer";
  mailer.target = inbox::HandlerTarget::parse("/send").value();
  config.destinations.push_back(mailer);
  return config;
}

// Nothing is sent: the destination is paused.
class EffectTest : public testing::Test {
 protected:
  EffectTest() {
    const auto config = std::make_shared<const config::Config>(with_a_mailer());
    const auto plan = std::make_shared<Plan>();
    plan->config = config;
    dispatcher_.add_worker(world_.context.get_executor(), [plan] { return plan; });
    dispatcher_.configure(config);
    dispatcher_.pause("mailer", std::nullopt, "a test");
    static_cast<void>(test::run(world_.context, opened_.inbox->adopt({.limit = 10, .rest = Millis{0}, .holding = {}})));
  }

  static EffectOrder receipt(std::string key, std::string body = "{}") {
    return {.source = "outbox:shop", .key = std::move(key), .destination = "mailer", .body = std::move(body)};
  }
  EffectEnd send(EffectOrder effect) {
    return test::run(world_.context, accept_effect(&dispatcher_, std::move(effect))).end;
  }
  EffectEnd bury(EffectOrder effect, std::string why) {
    return test::run(world_.context, bury_effect(&dispatcher_, std::move(effect), std::move(why))).end;
  }
  std::vector<store::TakenDelivery> take() {
    store::TakeOrder order{.to = "mailer", .limit = 100, .replays_max = 100};
    return test::run(world_.context, opened_.inbox->take(std::move(order))).value().deliveries;
  }
  std::vector<store::TakenDelivery> list(DeliveryState state) {
    store::DeliveryFilter filter;
    filter.state = state;
    return test::run(world_.context, opened_.inbox_desk->list(filter, {})).value().items;
  }
  std::string field_of(const store::TakenDelivery& delivery, const std::string& name) {
    const auto parcel = test::run(world_.context, opened_.inbox->load(delivery.event.id)).value();
    for (const Field& field : parcel->fields) {
      if (field.name == name) return field.value;
    }
    return {};
  }

  test::World world_;
  store::CapableStore opened_ = store::make_capable_memory_store(world_.clock);
  telemetry::InboxMetrics metrics_;
  Dispatcher dispatcher_{*opened_.inbox, *opened_.inbox_desk, world_.clock, metrics_, 7};
};

// However often it is asked for, there is one delivery; other content under the key changes nothing.
TEST_F(EffectTest, IsAcceptedOncePerKey) {
  EXPECT_EQ(send(receipt("order:42")), EffectEnd::accepted);
  EXPECT_EQ(send(receipt("order:42")), EffectEnd::known);
  EXPECT_EQ(send(receipt("order:42", "{\"other\":1}")), EffectEnd::reused);
  EffectOrder elsewhere = receipt("order:42");
  elsewhere.source = "outbox:other";
  EXPECT_EQ(send(elsewhere), EffectEnd::accepted);
  EXPECT_EQ(take().size(), 2U);
}

// When it is to happen does not make it another effect.
TEST_F(EffectTest, IsTheSameAtAnotherTime) {
  EffectOrder later = receipt("order:42");
  later.wait = Millis{1'000};
  EXPECT_EQ(send(later), EffectEnd::accepted);
  EXPECT_EQ(send(receipt("order:42")), EffectEnd::known);
}

TEST_F(EffectTest, WaitsForItsTime) {
  EffectOrder later = receipt("order:42");
  later.wait = Millis{60'000};
  ASSERT_EQ(send(later), EffectEnd::accepted);
  EXPECT_TRUE(take().empty());
  world_.clock.advance(Millis{59'000});
  EXPECT_TRUE(take().empty());
  world_.clock.advance(Millis{2'000});
  EXPECT_EQ(take().size(), 1U);
}

// The receiver knows every attempt by the same key. One that the sender chose is used instead.
TEST_F(EffectTest, CarriesADerivedKey) {
  ASSERT_EQ(send(receipt("order:42")), EffectEnd::accepted);
  const std::vector<store::TakenDelivery> taken = take();
  ASSERT_EQ(taken.size(), 1U);
  const Key key = make_key("outbox:shop", {}, "order:42").value();
  EXPECT_EQ(field_of(taken.front(), "Idempotency-Key"), derived_key(key, "mailer"));
  EffectOrder chosen = receipt("order:43");
  chosen.fields.push_back({.name = "idempotency-key", .value = "mine"});
  ASSERT_EQ(send(chosen), EffectEnd::accepted);
  EXPECT_EQ(field_of(take().front(), "idempotency-key"), "mine");
}

// Of one object, one after the other by their stamps; others do not wait for them.
TEST_F(EffectTest, KeepsTheOrderOfAnObject) {
  for (const std::string stamp : {"1", "2"}) {
    EffectOrder effect = receipt("order:42/" + stamp);
    effect.object = "order:42";
    effect.stamp = stamp;
    ASSERT_EQ(send(effect), EffectEnd::accepted);
  }
  ASSERT_EQ(send(receipt("order:43")), EffectEnd::accepted);
  EXPECT_EQ(take().size(), 2U);
}

TEST_F(EffectTest, RefusesWhatCanNeverBeSent) {
  EffectOrder nowhere = receipt("order:42");
  nowhere.destination = "nowhere";
  EXPECT_EQ(send(nowhere), EffectEnd::refused);
  EXPECT_EQ(send(receipt("")), EffectEnd::refused);
  EXPECT_EQ(send(receipt(std::string(256, 'k'))), EffectEnd::refused);
  EXPECT_TRUE(take().empty());
}

// Headers that no attempt could send are refused at once, with a short reason that says what to do.
TEST_F(EffectTest, RefusesHeadersThatCanNeverBeSent) {
  const auto refusal = [&](std::vector<Field> fields) {
    EffectOrder effect = receipt("order:42");
    effect.fields = std::move(fields);
    const EffectAnswer answer = test::run(world_.context, accept_effect(&dispatcher_, std::move(effect)));
    EXPECT_EQ(answer.end, EffectEnd::refused);
    return answer.detail;
  };
  EXPECT_EQ(refusal({{.name = "X-Of", .value = "a\r\nb: c"}}),
            "the value of the header X-Of cannot be sent: send it without control characters and spaces around it");
  EXPECT_EQ(refusal({{.name = "X-Bad\x1b", .value = "a"}}),
            R"(a header cannot have the name "X-Bad\x1b": send it under one of letters, digits and -)");
  EXPECT_EQ(refusal({{.name = "", .value = "a"}}),
            R"(a header cannot have the name "": send it under one of letters, digits and -)");
  EXPECT_EQ(refusal({{.name = "X-A", .value = "1"}, {.name = "X-B", .value = "1"}, {.name = "x-a", .value = "2"}}),
            "the header x-a is there in two spellings: send it once");
  for (const std::string& key : {std::string(), std::string(R"("")"), std::string("\xc3\xa4"), std::string(256, 'k')}) {
    EXPECT_EQ(refusal({{.name = "idempotency-key", .value = key}}),
              "the header Idempotency-Key must have 1 to 255 characters, all of them ASCII: send it without one, and "
              "one is derived");
  }
  const std::string remedy = ": send it in the body, or raise the limit and replay it";
  EXPECT_EQ(refusal({{.name = "X-Long", .value = std::string(8'192, 'a')}}),
            "the header X-Long is over limits.header_line_bytes (8KiB)" + remedy);
  EXPECT_EQ(refusal({{.name = std::string(3'000'000, 'n'), .value = ""}}),
            "the header " + std::string(64, 'n') + "... is over limits.header_line_bytes (8KiB)" + remedy);
  EXPECT_EQ(refusal(std::vector<Field>(5'000, {.name = "X-Many", .value = "a"})),
            "it has 5000 headers, over limits.header_fields (100)" + remedy);
  std::vector<Field> large;
  for (int i = 0; i < 9; ++i) large.push_back({.name = "X-" + std::to_string(i), .value = std::string(8'000, 'a')});
  EXPECT_EQ(refusal(large), "its headers are over limits.header_bytes (64KiB)" + remedy);
  EXPECT_TRUE(take().empty());
}

TEST_F(EffectTest, SaysThatTheInboxIsFull) {
  EffectOrder effect = receipt("order:42");
  effect.depth_max = 0;
  EXPECT_EQ(send(effect), EffectEnd::full);
}

// A dead one is kept once, is in the list with its reason, and is not tried.
TEST_F(EffectTest, IsBuriedOnce) {
  EffectOrder nowhere = receipt("order:42");
  nowhere.destination = "nowhere";
  EXPECT_EQ(bury(nowhere, "no such destination"), EffectEnd::accepted);
  EXPECT_EQ(bury(nowhere, "no such destination"), EffectEnd::known);
  const std::vector<store::TakenDelivery> dead = list(DeliveryState::dead);
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead.front().event.deliveries.front().to, "nowhere");
  EXPECT_EQ(dead.front().event.deliveries.front().why, "no such destination");
  EXPECT_EQ(send(receipt("order:42")), EffectEnd::reused);  // the key is used up
}

// What was accepted under the key stays as it is.
TEST_F(EffectTest, IsBuriedBesideTheOneThatHasItsKey) {
  ASSERT_EQ(send(receipt("order:42")), EffectEnd::accepted);
  const EffectOrder other = receipt("order:42", "{\"other\":1}");
  ASSERT_EQ(send(other), EffectEnd::reused);
  EXPECT_EQ(bury(other, "key-reused"), EffectEnd::accepted);
  EXPECT_EQ(bury(other, "key-reused"), EffectEnd::known);
  EXPECT_EQ(list(DeliveryState::dead).size(), 1U);
  EXPECT_EQ(take().size(), 1U);
}

TEST_F(EffectTest, IsNotTakenByAGatewayThatStops) {
  dispatcher_.drain();
  EXPECT_EQ(send(receipt("order:42")), EffectEnd::unavailable);
}

}  // namespace
}  // namespace semel::gateway
