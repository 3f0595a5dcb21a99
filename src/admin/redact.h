// What of a stored answer, or of an event, is not shown to anybody.
#pragma once

#include <string_view>

#include "core/json/writer.h"
#include <semel/fingerprint.h>
#include <semel/response.h>

namespace semel::admin {

// The value of a field as people may see it: credentials are hidden, whatever the role.
std::string_view shown_value(const Field& field);

// The members `fields`, `body_base64` and `redacted` of an object: what operators see of an answer or an event,
// wherever they see it. Credentials are hidden, whatever the pointers.
//
// Every value that `pointers` lead to is "[redacted]"; of a member that is there twice, both are. A body that is not
// JSON (strict, in UTF-8, not compressed) is hidden as a whole, unless it surely holds none: its Content-Type is there
// and of another kind, and it is text in which nothing could begin an object or an array. What an event has beside its
// fields and was taken from what is hidden (its object) is hidden as well.
void write_shown(core::json::JsonWriter& json, const Response& response, const IgnoreList& pointers);

}  // namespace semel::admin
