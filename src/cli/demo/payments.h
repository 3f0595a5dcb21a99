// The demo's payments API. It is deliberately not safe to retry: it charges every time it is asked.
//
//   POST /v1/payments   charges: 201 with a fresh id each time
//   POST /v1/slow       the same, but takes two seconds
//   POST /v1/flaky      the same, but the first request of each Idempotency-Key gets 500 and is not charged
//   GET  /v1/payments   what was charged, the latest at the end
//   GET  /effects       {"effects":N,...}: how often it has charged
//
// One thread of its own, in the process of the demo.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>

#include <boost/asio/io_context.hpp>

#include "http/listener.h"
#include "http/session.h"
#include "http/ticker.h"
#include "http/transaction.h"
#include "reading/address.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::cli {

class PaymentsApi : public http::RequestHandler {
 public:
  // Code::unavailable: the address cannot be used.
  static Result<std::unique_ptr<PaymentsApi>> start(Clock& clock, const reading::Endpoint& endpoint);
  ~PaymentsApi() override;
  PaymentsApi(const PaymentsApi&) = delete;
  PaymentsApi& operator=(const PaymentsApi&) = delete;

  [[nodiscard]] std::uint16_t port() const { return listener_->port(); }

  struct Totals {
    std::uint64_t requests = 0;  // POST
    std::uint64_t payments = 0;
    std::uint64_t amount = 0;
  };
  // Ends its thread.
  Totals stop();

  Task<void> handle(http::Transaction& transaction) override;

 private:
  struct Reply {
    std::uint16_t status = 200;
    std::string body;
  };
  struct Payment {
    std::uint64_t number = 0;
    std::uint64_t amount = 0;
  };

  explicit PaymentsApi(Clock& clock) : clock_(clock), ticker_(clock, context_.get_executor()) {}
  Task<void> answer(http::Transaction* client);
  Task<Reply> post(std::string path, std::string key, std::string body);
  Reply charge(std::string_view body);
  bool first_of(const std::string& key);
  [[nodiscard]] std::string list() const;
  [[nodiscard]] std::string effects() const;

  Clock& clock_;
  http::Gate gate_;
  boost::asio::io_context context_{1};
  http::Ticker ticker_;
  std::unique_ptr<http::Listener> listener_;
  Totals totals_;
  std::deque<Payment> latest_;
  std::unordered_set<std::string> failed_once_;
  std::thread thread_;
};

}  // namespace semel::cli
