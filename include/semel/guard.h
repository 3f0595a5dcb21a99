// A Guard makes the handlers of an HTTP server safe to retry: the gateway's rules, without the gateway.
//
//   request ──▶ key, scope, fingerprint ──▶ once() ──▶ your handler ──▶ kept, released or unknown, by status ──▶ reply
//
// It knows no server: requests and responses are plain values. Thin adapters are in semel/beast.h and semel/httplib.h.
// What a client sees (statuses, problem bodies, header fields) is what the gateway would have said, because it is the
// same code: docs/guarantees.md has the table.
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

// Answers the request. The status decides what becomes of the key, as it does behind the gateway: 2xx to 4xx are kept,
// 409, 429, 500, 503 and their like let a retry run, 502 and 504 are unknown. A field `Semel-Outcome: store | release |
// unknown` decides instead; the client does not see it. An exception means unknown. The fence is 0 where nothing is
// guarded.
using Handler = std::move_only_function<Task<Response>(Fence)>;
using BlockingHandler = std::move_only_function<Response(Fence)>;

// Whatever runs an action once: BlockingOnce::run, or once_in_transaction() on a connection of yours.
using BlockingRunner = std::move_only_function<Answer(Key, Fingerprint, Policy, BlockingAction)>;

// Copies share the rules. May be used by any number of threads.
class Guard {
 public:
  // As the members of a [[route]] in conf/semel.toml, which explains each.
  struct Rules {
    std::vector<std::string> methods{"POST", "PATCH"};  // others go straight to the handler
    KeyMode key = KeyMode::required;
    std::string key_from = "{header:Idempotency-Key}";
    std::string scope = "{header:Authorization}";
    std::string space = "default";
    BodyForm fingerprint = BodyForm::json;
    std::vector<std::string> ignore = {};  // JSON Pointers
    Policy policy = {};
    std::vector<std::pair<std::string, Verdict>> keep = {};  // by status or class: {"404", Verdict::release}
    std::vector<std::string> replay_fields = {};             // personal fields to be replayed all the same
    std::size_t body_bytes_max = 1U << 20U;                  // of a request; over it: 413
    std::size_t store_body_max = 1U << 20U;                  // of an answer; over it only status and Location are kept
    // Requests are events of this provider: the signature is verified, the provider's file says what the key is, and
    // methods, key, key_from, scope and fingerprint have no say. Only a success is kept, unless `keep` says otherwise.
    std::optional<WebhookVerifier> webhook = std::nullopt;

    std::string problem_base = "urn:semel:problem:";
    std::string replayed_header = "Idempotent-Replayed";
    std::string docs_url = "https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header";
  };

  // Code::invalid: the rules hold something that cannot be read; the message says what.
  static Result<Guard> make(const Rules& rules);

  // The reply to the request; the handler has run at most once for all requests of its key. Nothing is thrown.
  Task<Response> run(Once& once, HttpRequest request, Handler handler, Probe probe = {}) const;
  Response run(BlockingOnce& once, HttpRequest request, BlockingHandler handler, BlockingProbe probe = {}) const;
  Response run(BlockingRunner once, HttpRequest request, BlockingHandler handler) const;

 private:
  class Impl;
  explicit Guard(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  std::shared_ptr<const Impl> impl_;
};

}  // namespace semel
