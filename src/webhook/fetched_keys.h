// Providers whose keys have to be fetched: PayPal, AWS SNS, and tokens signed by keys of a JSON web key set (Google
// Pub/Sub, Plaid).
//
// Nothing is fetched here. judge_delivery() returns which document it needs; the caller gets it and asks again. The
// provider's file limits what may be fetched: a document whose address does not begin with one of `keys` is never asked
// for, whatever a delivery says.
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
  std::string body{};           // of a POST; empty for a GET
  std::string name{};           // under which it is kept, if not its address
  bool refresh = false;         // the document at hand does not have the key; a newer one may
  std::string authorization{};  // of a token: what it is got for
  Millis usable_for{0};         // while it cannot be fetched anew; 0: no longer than it is kept

  [[nodiscard]] const std::string& kept_as() const { return name.empty() ? url : name; }
};

// The document kept under a name, or null.
using Documents = std::function<std::optional<std::string_view>(const std::string& name)>;

using Judged = std::variant<Authentic, SignatureFault, Wanted>;
Judged judge_delivery(const Provider& provider, const Lock& lock, const policy::RequestView& request, Time now,
                      const Documents& documents);

// A sender that asks whether it may send events here; visiting the address says yes.
struct Confirmation {
  std::string url;  // empty if it is not an address of the sender, and must not be visited
};

// For an authentic request; null if it asks for none.
std::optional<Confirmation> confirmation_of(const SignatureScheme& scheme, const policy::RequestView& request);

}  // namespace semel::webhook
