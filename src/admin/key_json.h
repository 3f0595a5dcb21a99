// A key as the desk shows it.
#pragma once

#include <optional>

#include "core/json/writer.h"
#include "gateway/logged_act.h"
#include "resolver/suggestion.h"
#include <semel/store.h>

namespace semel::admin {

using gateway::state_name;
using gateway::time_text;

// {"id":…,"state":…,"fence":…,"namespace":…,…}; of a stored answer only the head.
void write_key(core::json::JsonWriter& json, const Held& held);
// The same, with what a resolver thinks of it.
void write_key(core::json::JsonWriter& json, const Held& held, const std::optional<resolver::Suggestion>& suggestion);

}  // namespace semel::admin
