// What of a stored answer is not shown to anybody.
#pragma once

#include <string>

#include <semel/fingerprint.h>

namespace semel::admin {

// `body` with "[redacted]" in place of every value that `pointers` name. A body that is not JSON, or has none of them,
// is returned as it is. So is JSON that the parser refuses: it has no members to name.
std::string redacted(const std::string& body, const IgnoreList& pointers);

}  // namespace semel::admin
