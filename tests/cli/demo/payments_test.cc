// The demo's API, asked without a network: it charges as often as it is asked, which is the point of the demo.
#include "cli/demo/payments.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "core/field_view.h"
#include "http/failure.h"
#include "support/fake_transaction.h"
#include "support/run.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::cli {
namespace {

class PaymentsTest : public testing::Test {
 protected:
  static Task<bool> handled(PaymentsApi* api, http::Transaction* client) {
    co_await api->handle(*client);
    co_return true;
  }
  // No connection is ever made, so the API's own thread touches nothing that a handler does.
  void answer(test::FakeTransaction& client) { test::run(context_, handled(api_.get(), &client)); }
  test::FakeTransaction request(std::string_view method, std::string_view target, std::vector<FieldView> fields,
                                std::string body) {
    return {context_.get_executor(), method, target, std::move(fields), std::move(body)};
  }

  const std::unique_ptr<Clock> clock_ = make_system_clock();
  std::unique_ptr<PaymentsApi> api_ = PaymentsApi::start(*clock_, {.host = "127.0.0.1", .port = 0}).value();
  boost::asio::io_context context_;
};

TEST_F(PaymentsTest, ChargesEveryTime) {
  for (const std::string_view id : {"pay_1", "pay_2"}) {
    test::FakeTransaction client = request("POST", "/v1/payments?a=b", {}, R"({"amount":42})");
    answer(client);
    EXPECT_EQ(client.status_sent(), 201);
    EXPECT_NE(client.received().body.find(id), std::string::npos) << client.received().body;
    EXPECT_TRUE(client.received().ended);
    EXPECT_FALSE(client.closes());
  }
  EXPECT_EQ(api_->stop().amount, 84);
}

TEST_F(PaymentsTest, FailsTheFirstRequestOfAFlakyKey) {
  const std::vector<FieldView> key{{.name = "Idempotency-Key", .value = "k-1"}};
  test::FakeTransaction first = request("POST", "/v1/flaky", key, R"({"amount":1})");
  answer(first);
  EXPECT_EQ(first.status_sent(), 500);
  test::FakeTransaction second = request("POST", "/v1/flaky", key, R"({"amount":1})");
  answer(second);
  EXPECT_EQ(second.status_sent(), 201);
  EXPECT_EQ(api_->stop().payments, 1);
}

// A body that was cut off charges nobody, and the connection is of no use any more.
TEST_F(PaymentsTest, ChargesNothingForHalfABody) {
  test::FakeTransaction client = request("POST", "/v1/payments", {}, R"({"amount":42})");
  client.reading_fails = http::Failure::timed_out;
  answer(client);
  EXPECT_EQ(client.status_sent(), 400);
  EXPECT_TRUE(client.closes());
  EXPECT_EQ(api_->stop().payments, 0);
}

TEST_F(PaymentsTest, ClosesWhenTheClientIsGone) {
  test::FakeTransaction client = request("GET", "/effects", {}, "");
  client.replying_fails = http::Failure::broken;
  answer(client);
  EXPECT_EQ(client.received().body, "");
  EXPECT_TRUE(client.closes());
}

}  // namespace
}  // namespace semel::cli
