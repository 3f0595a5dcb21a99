// Whether spans of time make sense, before anything is added to a clock. Every store asks this first.
#pragma once

#include <semel/clock.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::core {

// Code::invalid: zero, negative, or over span_max.
Result<void> check_lease(Millis lease);
Result<void> check_terms(const Terms& terms);

}  // namespace semel::core
