// Providers whose keys have to be fetched: PayPal, AWS SNS, and tokens signed by keys of a JSON web key set (Google
// Pub/Sub, Plaid).
//
// Nothing is fetched here. judge_delivery() says which document it wants; who has it asks again with it. What may be
// fetched is pinned by the provider's file: a document whose address does not begin with one of `keys` is never wanted,
// whatever a delivery says.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "policy/request_view.h"
#include "webhook/authenticate.h"
#include "webhook/provider.h"
#include "webhook/signatures.h"
#include <semel/clock.h>

namespace semel::webhook {

struct Wanted {
  std::string url;
  std::string body{};    // of a POST; empty: a GET
  std::string name{};    // under which it is kept, if not its address
  bool refresh = false;  // the one that there is does not have the key; a newer one may

  [[nodiscard]] const std::string& kept_as() const { return name.empty() ? url : name; }
};

// The document kept under a name, or nothing.
using Documents = std::function<std::optional<std::string_view>(const std::string& name)>;

using Judged = std::variant<Authentic, SignatureFault, Wanted>;
Judged judge_delivery(const Provider& provider, const Lock& lock, const policy::RequestView& request, Time now,
                      const Documents& documents);

// A sender that asks whether it may send events here; visiting the address says yes.
struct Confirmation {
  std::string url;  // empty: it is not where the sender's addresses are, and must not be visited
};

// Of an authentic request; nothing if it asks for none.
std::optional<Confirmation> confirmation_of(const SignatureScheme& scheme, const policy::RequestView& request);

}  // namespace semel::webhook
