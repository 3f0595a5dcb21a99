#include "webhook/event_batch.h"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "webhook/deliveries.h"

namespace semel::webhook {
namespace {

using test::builtin;
using test::Sent;

Split split(std::string_view provider, Sent& request) {
  return split_batch(builtin(provider), {.space = "webhook:/h", .key_from = nullptr}, Authentic{}, request.view());
}

// Events are told apart by their keys, which are in the same order in any delivery.
TEST(Batches, AreSplitIntoTheirEvents) {
  Sent one{.body = R"({"data":{"events":[{"uuid":"a"},{"uuid":"b"},{"uuid":"a"}]}})"};
  Sent other{.body = R"({"data":{"events":[{"uuid":"b"},{"uuid":"a"}]}})"};
  const EventBatch first = std::get<EventBatch>(split("okta", one));
  const EventBatch second = std::get<EventBatch>(split("okta", other));
  EXPECT_EQ(first.items.size(), 3U);
  ASSERT_EQ(first.identities.size(), 2U);
  ASSERT_EQ(second.identities.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(first.identities[i].key, second.identities[i].key);
}

// A body without the list is a single event, and one with too many events is too large.
TEST(Batches, AreToldFromSingleEvents) {
  Sent object{.body = R"({"log_id":"1"})"};
  EXPECT_TRUE(std::holds_alternative<std::monostate>(split("auth0", object)));
  Sent lines{.body = "{\"log_id\":\"1\"}\n{\"log_id\":\"2\"}\n"};
  EXPECT_TRUE(std::holds_alternative<std::monostate>(split("auth0", lines)));
  Sent single{.body = "[]"};
  EXPECT_TRUE(std::holds_alternative<std::monostate>(split("stripe", single)));
  Sent many{.body = "["};
  for (std::size_t i = 0; i <= batch_items_max; ++i) many.body += R"({"log_id":")" + std::to_string(i) + "\"},";
  many.body.back() = ']';
  EXPECT_EQ(std::get<policy::Refusal>(split("auth0", many)).problem.type, ProblemType::body_too_large);
}

// What is left out takes its comma along; when nothing is, not a byte changes.
TEST(Batches, LeaveOutWhatIsDone) {
  Sent request{.body = R"({"data":{"n":0,"events":[ {"uuid":"a"} , {"uuid":"b"},{"uuid":"c"} ]},"x":1})"};
  const EventBatch batch = std::get<EventBatch>(split("okta", request));
  const auto with = [&](const std::vector<bool>& keep) { return body_with(request.body, batch.items, keep); };
  EXPECT_EQ(with({true, true, true}), request.body);
  EXPECT_EQ(with({false, true, false}), R"({"data":{"n":0,"events":[ {"uuid":"b"} ]},"x":1})");
  EXPECT_EQ(with({true, false, true}), R"({"data":{"n":0,"events":[ {"uuid":"a"},{"uuid":"c"} ]},"x":1})");
}

}  // namespace
}  // namespace semel::webhook
