// The operator's listener: /healthz, /readyz, /metrics.
//
// Health says that the process answers. Readiness says that a request would get through: a key can be written to the
// store and every upstream takes a connection. Metrics ask for the token, if there is one. On the loopback only local
// names are answered, and those that server.hosts lists.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "config/config.h"
#include "gateway/worker.h"
#include "http/listener.h"
#include "http/session.h"
#include "telemetry/metrics.h"
#include <semel/async.h>
#include <semel/reopening.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::admin {

class Admin : public http::RequestHandler {
 public:
  // Lives on the event loop of `worker`.
  // `reopening` is null if the store cannot do that.
  Admin(gateway::Worker& worker, Store& store, Reopening* reopening, telemetry::Metrics& metrics,
        reading::Secret token);

  Result<std::uint16_t> listen(const reading::Endpoint& endpoint);
  void start();
  // On the worker's thread.
  void stop();
  void set_token(reading::Secret token);

  Task<void> handle(http::Transaction& transaction) override;

 private:
  struct Reply {
    std::uint16_t status = 200;
    std::string type;
    std::string body;
  };
  Task<void> answer(http::Transaction* client);
  Task<Reply> readiness();
  Task<std::string> store_trouble();
  Task<std::string> upstream_trouble();
  Task<Reply> reopen(http::Transaction* client);
  [[nodiscard]] bool is_meant(const http::Head& head) const;
  [[nodiscard]] bool may_read(const http::Head& head) const;

  gateway::Worker& worker_;
  Store& store_;
  Reopening* const reopening_;
  telemetry::Metrics& metrics_;
  reading::Secret token_;
  http::Gate gate_;
  bool loopback_ = false;
  std::unique_ptr<http::Listener> listener_;
};

}  // namespace semel::admin
