// What a client may rely on, route by route, as a document for clients: GET /.well-known/idempotency.
//
// The draft of the Idempotency-Key field asks a service to publish this. It says what is promised and nothing of how it
// is done: no upstream, no namespace, no expression of a scope.
#pragma once

#include <string>
#include <string_view>

#include "config/config.h"

namespace semel::config {

inline constexpr std::string_view policy_document_path = "/.well-known/idempotency";

// JSON. docs/callers.md explains its members.
std::string policy_document(const Config& config);

}  // namespace semel::config
