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

#include "gateway/attempt.h"
#include "gateway/key_cache.h"
#include "gateway/metrics.h"
#include "gateway/observer.h"
#include "gateway/plan.h"
#include "gateway/quotas.h"
#include "gateway/replay_cache.h"
#include "gateway/request_log.h"
#include "http/failure.h"
#include "http/transaction.h"
#include "once/pause.h"
#include "policy/authenticate.h"
#include "policy/batch.h"
#include "policy/config.h"
#include "policy/event.h"
#include "policy/handshake.h"
#include "policy/identify.h"
#include "policy/provider.h"
#include "policy/request_view.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/glance.h>
#include <semel/once.h>
#include <semel/problem.h>
#include <semel/response.h>

namespace semel {

// What every request of a thread shares.
struct Services {
  Once& once;
  Clock& clock;
  Metrics& metrics;
  Observer& observer;
  ReplayCache& replays;
  RequestLog& log;
  KeyCache& keys;
  Quotas& quotas;
  Glance* glance;  // nothing: the store cannot tell
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
  Task<void> guard(const Route* route);
  Task<void> receive(const Webhook* webhook);
  Task<bool> read_body();
  Task<void> refuse_body(http::Failure why);
  Task<void> run_once(const Route* route, Identity identity);
  Task<void> pass(const Route* route);
  Task<void> forward_unguarded(const Route* route, Ending ending);

  // The store has limits.store_timeout; then the client is told so, and a claim that is granted later is given up.
  void watch_store(const Route* route);
  static Task<void> give_store_up(Exchange* self, const Route* route);
  void observe(const Route& route, const Identified& identified);

  // Of a webhook.
  Task<bool> shake_hands(const Webhook* webhook, Stage stage);
  Task<std::optional<Authentic>> verify(const Webhook* webhook);
  Task<bool> confirm(const Webhook* webhook, const SignatureScheme* scheme);
  struct BatchRun;
  Task<void> receive_batch(const Webhook* webhook, Batch batch);
  Task<Outcome> claim_rest(BatchRun* run, std::size_t at);
  Task<Outcome> attempt_batch(BatchRun* run);
  void note_place(const Identity& identity);
  Task<void> tell_superseded();
  void count_event() const;
  [[nodiscard]] bool acknowledges(std::uint16_t status) const;
  [[nodiscard]] SharedResponse acknowledgement() const;

  // What goes up.
  [[nodiscard]] std::string head_for_upstream(const Route& route, std::optional<std::uint64_t> attempt) const;
  [[nodiscard]] std::string head_for_probe(const Route& route, std::string_view target) const;
  Task<Outcome> attempt(const Route* route, Fence fence);
  // Whether the scope may have one more key, and what became of it then.
  bool admit(const Route& route);
  // Whether it is refused before anything is claimed: the scope has no room, and the key is surely new.
  bool over_quota();
  void settle(const Route& route, const Outcome& outcome);
  Task<Outcome> probe(const Route* route, const Expression* question, std::string key_text);

  // What comes down.
  Task<void> tell(Answer answer, const Identity* identity);
  Task<void> tell_later(Answer answer, const Identity* identity);
  Task<void> tell_first(Ran ran);
  Task<void> tell_unreached(http::CallEnd end, const Policy* guarded_by);
  Task<void> refuse(ProblemType type) { return refuse(Problem::of(type), Millis{0}, {}); }
  Task<void> refuse(Problem problem, Millis retry_after, std::string detail = {});
  Task<void> send(Response response);
  // It cannot be told any more; if it is slow, that is counted.
  void give_client_up(http::Failure why);

  void note(Ending ending) { ending_ = ending; }
  void write_log() const;
  [[nodiscard]] const Config& config() const { return *plan_->config; }

  Services services_;
  std::shared_ptr<const Plan> plan_;
  http::Transaction& client_;
  const std::chrono::nanoseconds started_;
  RequestView request_;
  std::string_view host_;
  std::string body_;
  const Policy* guarded_by_ = nullptr;  // set when there is a key
  const Webhook* webhook_ = nullptr;    // set when it is an event
  Time counted_until_{};                // the key, for its scope; nothing: it is not
  std::optional<Quotas::Refusal> over_quota_;
  bool upgrades_ = false;  // to a WebSocket, if the upstream agrees

  // For the log and the metrics.
  RouteMetrics* route_metrics_;
  Ending ending_ = Ending::malformed;
  std::optional<ProblemType> problem_;
  std::optional<Key> key_;
  std::uint64_t fence_ = 0;
  std::string detail_;
  std::chrono::nanoseconds asked_{0};  // the store, for the key
  std::chrono::nanoseconds attempt_began_{0};
  EventLabels event_;
  std::chrono::nanoseconds upstream_time_{0};
  std::optional<Attempt> attempt_;
  std::shared_ptr<Pause> given_up_;  // on the store: there once that has happened, rung once the client has been told
};

}  // namespace semel
