// One request, top to bottom: run() in exchange.cc is where to start reading.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "gateway/attempt.h"
#include "gateway/key_cache.h"
#include "gateway/plan.h"
#include "gateway/quotas.h"
#include "gateway/replay_cache.h"
#include "http/failure.h"
#include "http/transaction.h"
#include "policy/identify.h"
#include "policy/request_view.h"
#include "runtime/pause.h"
#include "store/glance.h"
#include "telemetry/metrics.h"
#include "telemetry/observer.h"
#include "telemetry/request_log.h"
#include "webhook/authenticate.h"
#include "webhook/event.h"
#include "webhook/event_batch.h"
#include "webhook/handshake.h"
#include "webhook/provider.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/once.h>
#include <semel/problem.h>
#include <semel/response.h>

namespace semel::gateway {

// What every request of a thread shares.
struct Services {
  Once& once;
  Clock& clock;
  telemetry::Metrics& metrics;
  telemetry::Observer& observer;
  ReplayCache& replays;
  telemetry::RequestLog& log;
  KeyCache& keys;
  Quotas& quotas;
  store::Glance* glance;  // nothing: the store cannot tell
};

class Exchange {
 public:
  Exchange(const Services& services, std::shared_ptr<const Plan> plan, http::Transaction& client);
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() = default;

  Task<void> run();

 private:
  // The ways through, in the order in which exchange.cc tells them.
  std::optional<Response> answer_here();
  Task<void> guard(const policy::Route* route);
  Task<void> receive(const webhook::Webhook* webhook);
  Task<bool> read_body();
  Task<void> refuse_body(http::Failure why);
  Task<void> run_once(const policy::Target* target, policy::Identity identity, const policy::Expression* question);
  Task<void> pass(const policy::Route* route);
  Task<void> forward_unguarded(const policy::Target* target, telemetry::Ending ending);

  // The store has limits.store_timeout; then the client is told so, and a claim that is granted later is given up.
  void watch_store(const policy::Target* target);
  static Task<void> give_store_up(Exchange* self, const policy::Target* target);
  void observe(const policy::Route& route, const policy::Identified& identified);

  // Of a webhook.
  Task<bool> shake_hands(const webhook::Webhook* webhook, webhook::Stage stage);
  Task<std::optional<webhook::Authentic>> verify(const webhook::Webhook* webhook);
  Task<bool> confirm(const webhook::Webhook* webhook, const webhook::SignatureScheme* scheme);
  struct BatchRun;
  Task<void> receive_batch(const webhook::Webhook* webhook, webhook::EventBatch batch);
  Task<Outcome> claim_rest(BatchRun* run, std::size_t at);
  Task<Outcome> attempt_batch(BatchRun* run);
  void note_place(const policy::Identity& identity);
  Task<void> tell_superseded();
  void count_event() const;
  [[nodiscard]] bool acknowledges(std::uint16_t status) const;
  [[nodiscard]] SharedResponse acknowledgement() const;

  // What goes up.
  [[nodiscard]] std::string head_for_upstream(const policy::Target& target, std::optional<std::uint64_t> attempt) const;
  [[nodiscard]] std::string head_for_probe(const policy::Target& target, std::string_view asked) const;
  Task<Outcome> attempt(const policy::Target* target, Fence fence);
  // Whether the scope may have one more key, and what became of it then.
  bool admit(const policy::Target& target);
  // Whether it is refused before anything is claimed: the scope has no room, and the key is surely new.
  bool over_quota();
  void settle(const policy::Target& target, const Outcome& outcome);
  Task<Outcome> probe(const policy::Target* target, const policy::Expression* question, std::string key_text);

  // What comes down.
  Task<void> tell(Answer answer, const policy::Identity* identity);
  Task<void> tell_later(Answer answer, const policy::Identity* identity);
  Task<void> tell_first(Ran ran);
  Task<void> tell_unreached(http::CallEnd end, const Policy* guarded_by);
  Task<void> refuse(ProblemType type) { return refuse(Problem::of(type), Millis{0}, {}); }
  Task<void> refuse(Problem problem, Millis retry_after, std::string detail = {});
  // With the body of another answer, if that has one.
  Task<void> send(Response response, SharedResponse with = nullptr);
  // It cannot be told any more; if it is slow, that is counted.
  void give_client_up(http::Failure why);

  void note(telemetry::Ending ending) { ending_ = ending; }
  void write_log() const;
  [[nodiscard]] const config::Config& config() const { return *plan_->config; }

  Services services_;
  std::shared_ptr<const Plan> plan_;
  http::Transaction& client_;
  const std::chrono::nanoseconds started_;
  policy::RequestView request_;
  std::string_view host_;
  std::string body_;
  const Policy* guarded_by_ = nullptr;         // set when there is a key
  const webhook::Webhook* webhook_ = nullptr;  // set when it is an event
  Time counted_until_{};                       // the key, for its scope; nothing: it is not
  std::optional<Quotas::Refusal> over_quota_;
  bool upgrades_ = false;  // to a WebSocket, if the upstream agrees

  // For the log and the metrics.
  telemetry::RouteMetrics* route_metrics_;
  telemetry::Ending ending_ = telemetry::Ending::malformed;
  std::optional<ProblemType> problem_;
  std::optional<Key> key_;
  std::uint64_t fence_ = 0;
  std::string detail_;
  std::chrono::nanoseconds asked_{0};  // the store, for the key
  std::chrono::nanoseconds attempt_began_{0};
  webhook::EventLabels event_;
  std::chrono::nanoseconds upstream_time_{0};
  std::optional<Attempt> attempt_;
  std::shared_ptr<runtime::Pause>
      given_up_;  // on the store: there once that has happened, rung once the client has been told
};

}  // namespace semel::gateway
