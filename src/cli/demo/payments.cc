// See payments.h. Everything is in memory and bounded; all of it runs on one thread, so nothing is locked.
#include "cli/demo/payments.h"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "core/json/writer.h"
#include "http/failure.h"
#include "http/listener.h"
#include "http/transaction.h"
#include "http/writer.h"
#include "reading/address.h"
#include "runtime/pause.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t body_bytes_max = 1U << 20U;
constexpr std::size_t latest_max = 100;
constexpr std::size_t failed_once_max = 10'000;
constexpr std::uint64_t amount_max = 1'000'000;
constexpr Millis slow{2'000};

std::string error_body(std::string_view error) {
  std::string body;
  core::json::JsonWriter(body).begin_object().text("error", error).end_object();
  return body;
}

std::string payment_id(std::uint64_t number) {
  return "pay_" + std::to_string(number);
}

// A whole number from 1 to the demo's limit.
std::optional<std::uint64_t> amount_of(std::string_view body) {
  json::error_code error;
  const json::value document = json::parse(body, error);
  if (error || !document.is_object()) return std::nullopt;
  const json::value* const amount = document.as_object().if_contains("amount");
  if (amount == nullptr || !amount->is_int64()) return std::nullopt;
  const std::int64_t number = amount->as_int64();
  if (number < 1 || number > static_cast<std::int64_t>(amount_max)) return std::nullopt;
  return static_cast<std::uint64_t>(number);
}

}  // namespace

Result<std::unique_ptr<PaymentsApi>> PaymentsApi::start(Clock& clock, const reading::Endpoint& endpoint) {
  std::unique_ptr<PaymentsApi> api(new PaymentsApi(clock));
  auto listener = http::Listener::open(api->context_.get_executor(), api->ticker_, endpoint.host, endpoint.port,
                                       http::Sharing::alone, api->gate_);
  if (!listener) return std::unexpected(listener.error());
  api->listener_ = *std::move(listener);
  api->ticker_.start();
  api->listener_->start(*api, {});
  api->thread_ = std::thread([raw = api.get()] { raw->context_.run(); });
  return api;
}

PaymentsApi::~PaymentsApi() {
  stop();
}

PaymentsApi::Totals PaymentsApi::stop() {
  context_.stop();
  if (thread_.joinable()) thread_.join();
  return totals_;
}

Task<void> PaymentsApi::handle(http::Transaction& transaction) {
  return answer(&transaction);
}

Task<void> PaymentsApi::answer(http::Transaction* client) {
  const std::string method(client->head().method());
  const std::string path(client->head().target().substr(0, client->head().target().find('?')));
  const std::string key(client->head().find("Idempotency-Key").value_or(""));
  http::Try<std::string> body = co_await client->read_whole_body(body_bytes_max);
  Reply reply{.status = 404, .body = error_body("there is nothing here")};
  if (!body) {
    client->close_after();
    reply = {.status = 400, .body = error_body("the body did not arrive whole, or is too large")};
  } else if (method == "POST") {
    reply = co_await post(path, key, *std::move(body));
  } else if (path == "/v1/payments") {
    reply = {.status = 200, .body = list()};
  } else if (path == "/effects") {
    reply = {.status = 200, .body = effects()};
  }
  reply.body += '\n';
  const auto fields = [](http::HeadWriter& out) { out.field("Content-Type", "application/json"); };
  const http::Try<void> sent = co_await client->reply(reply.status, fields, reply.body);
  if (!sent) client->close_after();
}

Task<PaymentsApi::Reply> PaymentsApi::post(std::string path, std::string key, std::string body) {
  ++totals_.requests;
  if (path == "/v1/slow") {
    co_await runtime::sleep(clock_, slow);
  } else if (path == "/v1/flaky") {
    if (first_of(key)) co_return Reply{.status = 500, .body = error_body("it failed before anything was charged")};
  } else if (path != "/v1/payments") {
    co_return Reply{.status = 404, .body = error_body("there is nothing here")};
  }
  co_return charge(body);
}

PaymentsApi::Reply PaymentsApi::charge(std::string_view body) {
  const std::optional<std::uint64_t> amount = amount_of(body);
  if (!amount) {
    return {.status = 400, .body = error_body(R"(send JSON with a whole number, for example {"amount":25})")};
  }
  const std::uint64_t number = ++totals_.payments;
  totals_.amount += *amount;
  latest_.push_back({.number = number, .amount = *amount});
  if (latest_.size() > latest_max) latest_.pop_front();
  Reply reply{.status = 201, .body = {}};
  core::json::JsonWriter(reply.body)
      .begin_object()
      .text("id", payment_id(number))
      .number("amount", *amount)
      .text("status", "charged")
      .end_object();
  return reply;
}

bool PaymentsApi::first_of(const std::string& key) {
  if (failed_once_.size() >= failed_once_max) failed_once_.clear();
  return failed_once_.insert(key).second;
}

std::string PaymentsApi::list() const {
  std::string body;
  core::json::JsonWriter json(body);
  json.begin_object().number("count", totals_.payments).number("total", totals_.amount).name("latest").begin_array();
  for (const Payment& payment : latest_) {
    json.begin_object().text("id", payment_id(payment.number)).number("amount", payment.amount).end_object();
  }
  json.end_array().end_object();
  return body;
}

std::string PaymentsApi::effects() const {
  std::string body;
  core::json::JsonWriter(body)
      .begin_object()
      .number("effects", totals_.payments)
      .number("amount", totals_.amount)
      .number("requests", totals_.requests)
      .end_object();
  return body;
}

}  // namespace semel::cli
