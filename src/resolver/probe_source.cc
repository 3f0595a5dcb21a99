#include "resolver/probe_source.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gateway/ask_probe.h"
#include "resolver/at_once.h"
#include "resolver/ruling.h"
#include "resolver/source.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/once.h>
#include <semel/result.h>

namespace semel::resolver {
namespace {

constexpr std::size_t probes_at_once_max = 500;

class ProbeSource : public Source {
 public:
  ProbeSource(Clock& clock, ProbeTerms terms, AskTarget ask)
      : clock_(clock), terms_(std::move(terms)), ask_(std::move(ask)) {}

  [[nodiscard]] std::size_t questions_max() const override { return probes_at_once_max; }

  Task<std::vector<Testimony>> ask(std::vector<KeyQuestion> questions) override {
    std::vector<Testimony> said(questions.size());
    const auto one = [&](std::size_t at) { return ask_one(this, &questions[at], &said[at]); };
    co_await at_once(&clock_, questions.size(), terms_.concurrency, one);
    co_return said;
  }

 private:
  static Task<void> ask_one(const ProbeSource* self, const KeyQuestion* question, Testimony* into) {
    if (question->target.empty()) {
      *into = {.said = SourceSaid::unclear, .detail = "its request lacked what the probe of the route needs"};
      co_return;
    }
    gateway::ProbeTarget target{
        .route = self->terms_.route, .target = question->target, .authorization = self->terms_.authorization};
    const Result<Outcome> answer = co_await self->ask_(std::move(target));
    *into = testimony_of(answer);
  }

  Clock& clock_;
  const ProbeTerms terms_;
  const AskTarget ask_;
};

}  // namespace

Testimony testimony_of(const Result<Outcome>& answer) {
  if (!answer) return {.said = SourceSaid::nothing, .detail = answer.error().detail};
  if (answer->verdict == Verdict::keep && answer->response != nullptr) {
    return {.said = SourceSaid::found, .answer = answer->response};
  }
  if (answer->verdict == Verdict::release) return {.said = SourceSaid::absent};
  if (answer->response == nullptr) return {.said = SourceSaid::failed, .detail = "no whole answer came to the probe"};
  const unsigned status = answer->response->status;
  // A failing service may not see what it has done.
  return {.said = status >= 500 ? SourceSaid::failed : SourceSaid::unclear,
          .detail = "the probe was answered with status " + std::to_string(status)};
}

std::unique_ptr<Source> make_probe_source(Clock& clock, ProbeTerms terms, AskTarget ask) {
  return std::make_unique<ProbeSource>(clock, std::move(terms), std::move(ask));
}

}  // namespace semel::resolver
