#include "inbox/event_view.h"

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "policy/expression.h"
#include "policy/part_value.h"
#include "reading/fault.h"

namespace semel::inbox {
namespace {

std::optional<std::string> known(std::string_view text) {
  if (text.empty()) return std::nullopt;
  return std::string(text);
}

}  // namespace

std::optional<std::string> EventPart::value_in(const EventView& event) const {
  if (kind == Kind::type) return known(event.type);
  if (kind == Kind::object) return known(event.object);
  auto value = policy::value_of(part, event.request);
  if (!value) return std::nullopt;
  return *std::move(value);
}

reading::Parsed<EventPart> parse_event_part(std::string_view text) {
  if (text == "{type}") return EventPart{.kind = EventPart::Kind::type, .part = {}};
  if (text == "{object}") return EventPart{.kind = EventPart::Kind::object, .part = {}};
  auto parsed = policy::parse_expression(text, policy::ExpressionUse::event);
  if (!parsed) return std::unexpected(std::move(parsed).error());
  const bool single = parsed->parts.size() == 1 && parsed->parts.front().kind != policy::PartKind::literal;
  if (!single) return reading::fault("a part in braces is needed, such as {type} or {json:/data/id}", "{type}");
  return EventPart{.kind = EventPart::Kind::other, .part = std::move(parsed->parts.front())};
}

}  // namespace semel::inbox
