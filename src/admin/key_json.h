// A key as the desk shows it.
#pragma once

#include <string>

#include "core/json/writer.h"
#include <semel/clock.h>
#include <semel/store.h>

namespace semel::admin {

std::string time_text(Time at);  // RFC 3339 with milliseconds, UTC

// {"id":…,"state":…,"fence":…,"namespace":…,…}; of a stored answer only the head.
void write_key(core::json::JsonWriter& json, const Held& held);

std::string_view state_name(Record::State state);

}  // namespace semel::admin
