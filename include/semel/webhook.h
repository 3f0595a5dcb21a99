// Webhooks in your own server: whether a delivery comes from who it says, and which event it is.
//
// Providers are those of the gateway (`semel providers` lists them). The bytes must be those that arrived: verify
// before anything parses the body. A provider's retries have the same key, so once() with it processes an event once.
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
class Endpoint;
}

// Made once for an endpoint; the clock must outlive it. Copies share what they know; any number of threads may use one.
class WebhookVerifier {
 public:
  struct Event {
    Key key;  // in the namespace "webhook:" + provider; the scope is the path
    Fingerprint fingerprint;
    std::string type;    // empty where the provider does not say
    std::string object;  // what it is about; likewise
  };

  struct Options {
    std::string public_url = {};                     // what the provider calls us; some signatures cover it
    std::string verify_token = {};                   // some handshakes ask for one
    std::optional<Millis> tolerance = std::nullopt;  // of the signature's age; nothing: as the provider says
  };

  // Any of the secrets may match: give the new one and the old one while you rotate.
  // Code::invalid: no such provider, no secret, one that is not written as the provider's are, a public_url that is
  // missing, or a provider whose keys have to be fetched (those are for the gateway).
  static Result<WebhookVerifier> make(std::string_view provider, const std::vector<std::string>& secrets, Clock& clock,
                                      const Options& options);
  static Result<WebhookVerifier> make(std::string_view provider, const std::vector<std::string>& secrets,
                                      Clock& clock) {
    return make(provider, secrets, clock, Options());
  }

  // Code::invalid: not authentic (missing, malformed, stale or mismatch, in that word), or an event without an id.
  [[nodiscard]] Result<Event> verify(const HttpRequest& request) const;

  // For Guard.
  explicit WebhookVerifier(std::shared_ptr<const guard::Endpoint> endpoint) : endpoint_(std::move(endpoint)) {}
  [[nodiscard]] const guard::Endpoint& endpoint() const { return *endpoint_; }

 private:
  std::shared_ptr<const guard::Endpoint> endpoint_;
};

// Both in one call, for where a delivery now and then is all there is: reads the provider's file each time.
Result<WebhookVerifier::Event> verify(std::string_view provider, const std::vector<std::string>& secrets,
                                      const HttpRequest& request, Clock& clock);

}  // namespace semel
