// A Guard makes the handlers of an HTTP server safe to retry: the gateway's rules, without the gateway.
//
//   request ──▶ key, scope, fingerprint ──▶ once() ──▶ your handler ──▶ kept, released or unknown, by status ──▶ reply
//
// It knows no server: requests and responses are plain values. Thin adapters are in semel/beast.h and semel/httplib.h.
// A client gets the same statuses, problem bodies and header fields as from the gateway, because the code is the same;
// docs/guarantees.md has the table. Make a Guard once for each kind of endpoint:
//
//   semel::Guard::Rules rules;
//   rules.scope = "{header:X-Account}";
//   semel::Result<semel::Guard> guard = semel::Guard::make(rules);
//   …
//   semel::Response reply = guard->run(once, request, handler);   // in the server, for each request
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <semel/async.h>
#include <semel/blocking_once.h>
#include <semel/fingerprint.h>
#include <semel/http_request.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/webhook.h>

namespace semel {

// Answers the request. The status of the answer decides what happens to the key, as behind the gateway; the rule is in
// docs/configuration.md ("What is kept"). A field `Semel-Outcome: store | release | unknown` decides instead; the
// client does not see it. For a guarded request an exception means unknown, for any other a 500. The fence's number is
// 0 if the request is not guarded.
using Handler = std::move_only_function<Task<Response>(Fence)>;
using BlockingHandler = std::move_only_function<Response(Fence)>;

// A function that runs an action once: it calls BlockingOnce::run(), or once_in_transaction() on a connection of yours.
using BlockingRunner = std::move_only_function<Answer(Key, Fingerprint, Policy, BlockingAction)>;

// Copies share the rules. Any number of threads may use one Guard.
class Guard {
 public:
  // The members mean the same as those of a [[route]] in conf/semel.toml, which explains each.
  struct Rules {
    std::vector<std::string> methods{"POST", "PATCH"};  // requests with others go straight to the handler
    KeyMode key = KeyMode::required;
    std::string key_from = "{header:Idempotency-Key}";
    std::string scope = "{header:Authorization}";
    std::string space = "default";
    BodyForm fingerprint = BodyForm::json;  // of bodies whose Content-Type says JSON; others are compared as bytes
    std::vector<std::string> ignore = {};   // JSON Pointers
    Policy policy = {};
    std::vector<std::pair<std::string, Verdict>> keep = {};  // by status or class: {"404", Verdict::release}
    std::vector<std::string> replay_fields = {};  // fields to replay that normally are not: Set-Cookie, Date …
    std::size_t body_bytes_max = 1U << 20U;       // of a request; over it: 413
    std::size_t store_body_max = 1U << 20U;       // of an answer; over it only status and Location are kept
    // If set, requests are events of this provider: the signature is verified and the provider's file says what the key
    // is. methods, key, key_from, scope and fingerprint are ignored. Only a success is kept, unless `keep` says
    // otherwise.
    std::optional<WebhookVerifier> webhook = std::nullopt;

    std::string problem_base = "urn:semel:problem:";
    std::string replayed_header = "Idempotent-Replayed";
    std::string docs_url = "https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header";
  };

  // Code::invalid: a rule cannot be read (an expression, a JSON pointer, a status, the namespace); the message says
  // which.
  static Result<Guard> make(const Rules& rules);

  // Returns the reply to the request. The handler is called if the request is not guarded, or if its key is free;
  // otherwise the reply is a replay or a problem. Nothing is thrown. The memory that `request` points to, and `once`,
  // must outlive the call. `probe` is for Policy::OnUnknown::probe.
  Task<Response> run(Once& once, HttpRequest request, Handler handler, Probe probe = {}) const;
  Response run(BlockingOnce& once, HttpRequest request, BlockingHandler handler, BlockingProbe probe = {}) const;
  Response run(BlockingRunner once, HttpRequest request, BlockingHandler handler) const;

 private:
  class Impl;
  explicit Guard(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  std::shared_ptr<const Impl> impl_;
};

}  // namespace semel
