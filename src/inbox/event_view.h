// An event as filters and targets see it: the request that it came with, its type and its object.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "policy/expression.h"
#include "policy/request_view.h"
#include "reading/fault.h"

namespace semel::inbox {

struct EventView {
  policy::RequestView request;
  std::string_view type;    // empty if it is not known
  std::string_view object;  // the same
};

// One part in braces: {type}, {object}, or a part of an expression such as {json:/pointer} or {header:X}.
struct EventPart {
  enum class Kind : std::uint8_t { type, object, other };

  Kind kind = Kind::other;
  policy::Part part;  // of `other`

  // None if the event does not have it, or has it in a form that cannot be used.
  [[nodiscard]] std::optional<std::string> value_in(const EventView& event) const;
};

// `text` includes the braces.
reading::Parsed<EventPart> parse_event_part(std::string_view text);

}  // namespace semel::inbox
