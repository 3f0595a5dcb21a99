// The signatures that a delivery carries, found and decoded. What a stranger can send is limited here: the cost is
// linear in the size of the header, and a delivery with too many of anything is malformed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "policy/request_view.h"
#include "webhook/moment.h"
#include "webhook/provider.h"
#include <semel/clock.h>

namespace semel::webhook {

// Why a delivery is not believed; counted by these names.
enum class SignatureFault : std::uint8_t {
  missing,    // no signature at all
  malformed,  // there is one, but it cannot be read
  stale,      // signed too long ago, or in the future
  mismatch,   // not signed with a secret of ours, or altered
  no_key,     // the key that it is signed with could not be fetched
};
inline constexpr std::size_t signature_faults = 5;
std::string_view name(SignatureFault fault);

struct Signatures {
  std::vector<std::string> decoded;  // at least one
  std::string timestamp;             // as sent; empty where the scheme has none
};

std::expected<Signatures, SignatureFault> find_signatures(const SignatureScheme& scheme,
                                                          const policy::RequestView& request);

// Whether a moment is within `tolerance` of `now`, on either side; zero: any is.
std::expected<void, SignatureFault> check_moment(std::string_view text, MomentForm form, Millis tolerance, Time now);

// The same for the time of a scheme, if it has one.
std::expected<void, SignatureFault> check_age(const SignatureScheme& scheme, std::string_view timestamp,
                                              Millis tolerance, Time now);

}  // namespace semel::webhook
