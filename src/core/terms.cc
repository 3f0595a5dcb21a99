#include "core/terms.h"

#include <cstddef>
#include <string>

#include <semel/clock.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::core {
namespace {

Result<void> check_span(Millis span, const char* name) {
  if (span > Millis{0} && span <= span_max) return {};
  return fail(Code::invalid, std::string("the ") + name + " is " + std::to_string(span.count()) +
                                 " ms; it must be from 1 ms to 3650 days");
}

}  // namespace

Result<void> check_lease(Millis lease) {
  return check_span(lease, "lease");
}

Result<void> check_terms(const Terms& terms) {
  if (Result<void> lease = check_lease(terms.lease); !lease) return lease;
  if (Result<void> ttl = check_span(terms.ttl, "ttl"); !ttl) return ttl;
  if (terms.order == nullptr) return {};
  const std::size_t bytes = terms.order->stamp.size();
  if (bytes > 0 && bytes <= stamp_bytes_max) return {};
  return fail(Code::invalid, "the stamp of an ordered claim has " + std::to_string(bytes) + " bytes");
}

}  // namespace semel::core
