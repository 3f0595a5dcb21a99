// What a request has come to: one value, which is answered, counted and logged once.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/shape.h"
#include "gateway/attempt.h"
#include "http/call.h"
#include "http/transaction.h"
#include "policy/reply.h"
#include "telemetry/cause.h"
#include "telemetry/metrics.h"
#include "telemetry/notebook.h"
#include "webhook/event.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/problem.h>
#include <semel/response.h>

namespace semel::gateway {

// The client has its answer, or is gone.
struct AlreadySent {};

// An answer that was made here, or a stored one that is replayed: it is shared, not copied. The fields of `response`
// come behind those of `stored`, and its body is sent only if that one has none.
struct OwnReply {
  Response response;
  SharedResponse stored = nullptr;

  [[nodiscard]] bool has_stored_body() const { return stored != nullptr && stored->body_kept; }
};

// The upstream's own answer. What was too large to keep is still on its way.
struct UpstreamReply {
  std::unique_ptr<Attempt> attempt;
  std::optional<Time> expires_at;  // of the key; null if it was not kept
  std::optional<Field> exposed{};  // tells a browser that our marks may be read
};

// One of several events of a delivery. Its fence is 0 if this delivery did not run it.
struct EventTold {
  Digest id;
  std::uint64_t fence = 0;
  bool superseded = false;  // by a newer event of its object
};

struct Told {
  telemetry::Ending ending = telemetry::Ending::malformed;
  std::optional<ProblemType> problem{};
  std::uint64_t fence = 0;
  std::string detail{};  // for the log
  std::chrono::nanoseconds upstream_time{0};
  std::string_view upstream{};        // where this request was attempted; empty if it was not
  std::uint16_t upstream_status = 0;  // of its answer; 0 if there was none
  telemetry::Cause cause = telemetry::Cause::none;
  bool waited = false;         // for another caller's answer
  std::string_view differs{};  // between this request and the one that its key belongs to; empty if not known
  std::string_view would{};    // mode = "observe": what enforcing would have done
  core::Shape shape{};
  std::optional<Key> key{};
  std::vector<EventTold> events{};  // of a delivery of several, in place of `key`
  webhook::EventLabels event{};
  std::unique_ptr<telemetry::Clue> clue = nullptr;  // for the doctor; null if it does not want one
  bool bad_outcome_field = false;                   // the upstream's Semel-Outcome had no known value
  bool close = false;                               // this connection is of no use afterwards
  bool preflight = false;                           // the reply answers a browser's question, and has all that it needs
  std::variant<OwnReply, UpstreamReply, AlreadySent> reply = AlreadySent{};
};

// A refusal as a problem. `what` is told to the client, `detail` only to the log.
Told told_refusal(const Problem& problem, Millis retry_after, const policy::ReplyConfig& config,
                  std::string_view what = {}, std::string detail = {});
// An answer for what no rule was asked about: a malformed body, a path that programs read in different ways.
Told told_plainly(telemetry::Ending ending, std::uint16_t status, std::string_view detail,
                  Problem::Retry retry = Problem::Retry::never);
// The upstream did not answer. `guarded_by` is null if there is no key that this matters for; `ending` is the ending
// then.
Told told_unreached(http::CallEnd end, const Policy* guarded_by, telemetry::Ending ending,
                    const policy::ReplyConfig& config);

// Sends `told.reply`. A client that does not take its answer is given up; if it is slow, that is counted.
Task<void> send(http::Transaction* client, Told* told, const policy::ReplyConfig* config, telemetry::Metrics* metrics);

}  // namespace semel::gateway
