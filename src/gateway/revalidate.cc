#include "gateway/revalidate.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "config/config.h"
#include "gateway/attempt.h"
#include "gateway/incoming.h"
#include "gateway/job.h"
#include "gateway/passage.h"
#include "gateway/told.h"
#include "gateway/upstream_head.h"
#include "http/call.h"
#include "policy/expression.h"
#include "telemetry/metrics.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/problem.h>

namespace semel::gateway {
namespace {

constexpr Millis retry_after{1'000};

}  // namespace

Task<Told> revalidated(const Incoming* incoming, const Job* job, const policy::Expression* target, Told replay) {
  const auto asked = policy::render_target(*target, job->request, job->identity.key_text);
  const config::UpstreamConfig& upstream = incoming->config().upstreams[job->target->upstream];
  auto asking = std::make_unique<Attempt>(incoming->upstream(job->target->upstream), upstream, *job->target,
                                          incoming->config().reply.replayed_header);
  if (asked) {
    std::string head = probe_head(upstream, job->request, hop_of(*incoming), *asked);
    static_cast<void>(co_await asking->run(std::move(head), std::string_view()));  // its own outcome is nobody's
  }
  const bool answered = asked && asking->end() == http::CallEnd::answered;
  const std::uint16_t status = answered ? asking->answer().status() : 0;
  if (status >= 200 && status < 300 && !asking->goes_on()) co_return replay;
  Told told = told_refusal(Problem::of(ProblemType::upstream_unreachable), retry_after, incoming->config().reply,
                           "The service could not be asked whether the caller may still have the answer.",
                           answered ? fmt::format("revalidate was answered with {}", status) : std::string());
  if (status == 401 || status == 403) {
    told = Told{.ending = telemetry::Ending::refused};
    told.reply = UpstreamReply{.attempt = std::move(asking), .expires_at = {}};
  }
  told.fence = replay.fence;
  co_return told;
}

}  // namespace semel::gateway
