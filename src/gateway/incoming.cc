#include "gateway/incoming.h"

#include <cstddef>
#include <string_view>

#include "gateway/plan.h"
#include "gateway/services.h"
#include "http/transaction.h"
#include "policy/request_view.h"
#include <semel/clock.h>

namespace semel::gateway {
namespace {

struct TargetParts {
  std::string_view host;    // empty unless the target names one
  std::string_view origin;  // the target without scheme and authority
};

// An absolute-form target has a scheme and an authority (RFC 9112 §3.2.2).
TargetParts parts_of(std::string_view target) {
  const std::size_t scheme = target.find("://");
  if (target.starts_with('/') || scheme == std::string_view::npos) return {.host = {}, .origin = target};
  const std::string_view rest = target.substr(scheme + 3);
  const std::size_t slash = rest.find_first_of("/?");
  return {.host = rest.substr(0, slash),
          .origin = slash == std::string_view::npos ? std::string_view("/") : rest.substr(slash)};
}

}  // namespace

Incoming incoming_of(const Services& services, const Plan& plan, http::Transaction& client) {
  const TargetParts target = parts_of(client.head().target());
  Incoming incoming{.services = services,
                    .plan = plan,
                    .client = client,
                    .started = services.clock.stopwatch(),
                    .host = target.host.data() == nullptr ? client.head().find("Host").value_or("") : target.host,
                    .request = {}};
  incoming.request.method = client.head().method();
  incoming.request.fields = client.head().fields();
  incoming.request.ip = client.peer();
  incoming.request.client_subject = client.client_subject();
  policy::set_target(incoming.request, target.origin);
  return incoming;
}

}  // namespace semel::gateway
