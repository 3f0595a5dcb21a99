// One attempt of a guarded request at its upstream: the action of once(), and the answer that its first caller gets.
//
// What became of it is told apart as the promises need it: not one byte sent (release), an answer (as the rules of the
// route say), anything else after the first byte (unknown).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "http/call.h"
#include "http/head.h"
#include "http/upstream.h"
#include "policy/target.h"
#include "telemetry/cause.h"
#include <semel/async.h>
#include <semel/once.h>
#include <semel/response.h>

namespace semel::gateway {

class Attempt {
 public:
  Attempt(http::Upstream& upstream, const config::UpstreamConfig& settings, const policy::Target& target,
          std::string_view replayed_header)
      : call_(upstream, settings.timeout), target_(target), replayed_header_(replayed_header) {}

  // `head` and `body` are the whole request; `body` must stay valid until the attempt has ended.
  Task<Outcome> run(std::string head, std::string_view body);
  // The same for a probe: how an earlier attempt ended, by what the upstream says of it. An answer that is too large to
  // be kept says it, too.
  Task<Outcome> ask(std::string head);

  // How far it got.
  [[nodiscard]] http::CallEnd end() const { return end_; }
  // Why there is no answer; Cause::none if there is one.
  [[nodiscard]] telemetry::Cause cause() const;
  [[nodiscard]] bool bad_outcome_field() const { return bad_outcome_field_; }

  // The upstream's own answer, when there is one.
  [[nodiscard]] const http::Head& answer() const { return call_.head(); }
  [[nodiscard]] std::string_view body() const { return kept_ ? std::string_view(kept_->body) : body_; }
  // Whether the answer goes on behind body(): it was too large to keep and is to be streamed on.
  [[nodiscard]] bool goes_on() const { return !call_.complete(); }
  [[nodiscard]] http::Call& call() { return call_; }

 private:
  Task<bool> exchange(std::string head, std::string_view body);

  http::Call call_;
  const policy::Target& target_;
  std::string_view replayed_header_;
  http::CallEnd end_ = http::CallEnd::not_reached;
  std::string body_;
  SharedResponse kept_;  // holds the body when it was kept whole
  bool bad_outcome_field_ = false;
  bool head_came_ = false;
};

}  // namespace semel::gateway
