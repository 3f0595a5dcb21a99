// What a resolver thinks of keys of unknown outcome, as the desk shows it.
#pragma once

#include <expected>
#include <optional>

#include "admin/sources.h"
#include "core/json/writer.h"
#include "policy/request_view.h"
#include "resolver/suggestion.h"
#include <semel/async.h>
#include <semel/response.h>
#include <semel/store.h>

namespace semel::admin {

// None if there is none, if no resolver is configured, or if the history does not answer: it is only shown.
Task<std::optional<resolver::Suggestion>> suggestion_for(const Sources* sources, const Held* held);

// The member `suggestion` of a key. Of the answer only how large it is.
void write_suggestion(core::json::JsonWriter& json, const resolver::Suggestion& suggestion);

// The answer that a resolver suggests for the key in the path, or what the caller is told instead.
Task<std::expected<SharedResponse, Response>> answer_of_suggestion(const Sources* sources, policy::RequestView request);

}  // namespace semel::admin
