// Webhooks in your own server: whether a delivery is authentic, and which event it is.
//
// The providers are those of the gateway (`semel providers` lists them). Verify the bytes exactly as they arrived,
// before anything parses or changes the body. A provider's retries have the same key, so once() with that key processes
// an event once:
//
//   const semel::Result<semel::WebhookVerifier::Event> event = verifier.verify(request);
//   if (!event) return reply(401);
//   const semel::Answer answer = once.run(event->key, event->fingerprint, policy, action);
//
// A Guard with `rules.webhook` does all of this, the handshakes and the replies included (semel/guard.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/http_request.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel {

namespace guard {
class WebhookEndpoint;
}

// Make one for each endpoint. The clock must outlive it. Copies share their data; any number of threads may use one.
class WebhookVerifier {
 public:
  struct Event {
    Key key;  // in the namespace "webhook:" + provider; the scope is the path
    Fingerprint fingerprint;
    std::string type;    // empty if the provider does not say
    std::string object;  // the object that the event is about; empty likewise
  };

  struct Options {
    std::string public_url = {};                     // the URL that the provider calls; some signatures cover it
    std::string verify_token = {};                   // some handshakes need one
    std::optional<Millis> tolerance = std::nullopt;  // of the signature's age; nullopt: as the provider says
  };

  // Any of the secrets may match: give the new one and the old one while you rotate.
  // Code::invalid: there is no such provider, no secret, or a secret that does not have the provider's form; or a
  // public_url is needed; or there is a tolerance, but the provider signs no time; or the provider's keys have to be
  // fetched, which only the gateway does.
  static Result<WebhookVerifier> make(std::string_view provider, const std::vector<std::string>& secrets, Clock& clock,
                                      const Options& options);
  static Result<WebhookVerifier> make(std::string_view provider, const std::vector<std::string>& secrets,
                                      Clock& clock) {
    return make(provider, secrets, clock, Options());
  }

  // Returns the event, if the delivery is authentic. Stores nothing: a repeated delivery is authentic again.
  // Code::invalid: not authentic (the detail says missing, malformed, stale or mismatch), or the event has no id.
  [[nodiscard]] Result<Event> verify(const HttpRequest& request) const;

  // For Guard.
  explicit WebhookVerifier(std::shared_ptr<const guard::WebhookEndpoint> endpoint) : endpoint_(std::move(endpoint)) {}
  [[nodiscard]] const guard::WebhookEndpoint& endpoint() const { return *endpoint_; }

 private:
  std::shared_ptr<const guard::WebhookEndpoint> endpoint_;
};

// Both steps in one call, for programs that get few deliveries: it parses the provider's file each time.
Result<WebhookVerifier::Event> verify(std::string_view provider, const std::vector<std::string>& secrets,
                                      const HttpRequest& request, Clock& clock);

}  // namespace semel
