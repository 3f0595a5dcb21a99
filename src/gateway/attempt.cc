#include "gateway/attempt.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "http/call.h"
#include "http/connection.h"
#include "http/failure.h"
#include "http/head.h"
#include "policy/keep.h"
#include "runtime/failpoint.h"
#include "telemetry/cause.h"
#include <semel/async.h>
#include <semel/once.h>
#include <semel/response.h>

namespace semel::gateway {

// Whether there is an answer, whole or as much of it as is kept.
Task<bool> Attempt::exchange(std::string head, std::string_view body) {
  if (body.size() <= http::joined_bytes_max) head.append(std::exchange(body, {}));
  end_ = co_await call_.send(head, body);
  runtime::failpoint("request-sent");
  if (end_ == http::CallEnd::answered) end_ = co_await call_.read_head();
  if (end_ != http::CallEnd::answered) co_return false;
  runtime::failpoint("answer-begun");
  head_came_ = true;
  http::Try<std::string> read = co_await call_.read_body_up_to(target_.store_body_max);
  if (!read) {
    end_ = read.error() == http::Failure::timed_out ? http::CallEnd::timed_out : http::CallEnd::lost;
    co_return false;
  }
  body_ = *std::move(read);
  co_return true;
}

telemetry::Cause Attempt::cause() const {
  using telemetry::Cause;
  if (end_ == http::CallEnd::answered) return Cause::none;
  if (end_ == http::CallEnd::not_reached) return Cause::refused;
  if (end_ == http::CallEnd::timed_out) return Cause::timeout;
  if (head_came_) return Cause::cut;
  return call_.failure() == http::Failure::malformed ? Cause::malformed : Cause::reset;
}

Task<Outcome> Attempt::run(std::string head, std::string_view body) {
  const bool answered = co_await exchange(std::move(head), body);
  if (!answered) {
    const bool nothing_sent = end_ == http::CallEnd::not_reached;
    co_return Outcome{.verdict = nothing_sent ? Verdict::release : Verdict::unknown, .response = nullptr};
  }
  const http::Head& answer = call_.head();
  const policy::Judgement judgement = policy::judge(answer.status(), answer.fields(), target_.keep);
  bad_outcome_field_ = judgement.bad_outcome_field;
  auto response = std::make_shared<Response>();
  if (judgement.verdict == Verdict::keep) {
    const policy::KeepTerms terms{.store_body_max = target_.store_body_max,
                                  .replay_fields = target_.replay_fields,
                                  .replayed_header = replayed_header_};
    *response = policy::to_keep(answer.status(), answer.fields(), body_, terms);
    if (response->body_kept) kept_ = response;
  } else {
    response->status = answer.status();
  }
  call_.finish();
  co_return Outcome{.verdict = judgement.verdict, .response = std::move(response)};
}

Task<Outcome> Attempt::ask(std::string head) {
  const bool answered = co_await exchange(std::move(head), std::string_view());
  if (!answered) co_return Outcome{};
  const http::Head& answer = call_.head();
  const policy::Judgement judgement = policy::judge_probe(answer.status(), answer.fields());
  Outcome outcome{.verdict = judgement.verdict, .response = nullptr};
  if (judgement.verdict == Verdict::keep) {
    const policy::KeepTerms terms{.store_body_max = target_.store_body_max,
                                  .replay_fields = target_.replay_fields,
                                  .replayed_header = replayed_header_};
    outcome.response = std::make_shared<Response>(policy::to_keep(answer.status(), answer.fields(), body_, terms));
  }
  call_.finish();
  co_return outcome;
}

}  // namespace semel::gateway
