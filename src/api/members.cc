// Which members a call knows, and where they stand.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "api/access.h"
#include "api/item.h"
#include "api/pointer.h"
#include "api/trouble.h"
#include "core/json/view.h"

namespace semel::api {
namespace {

using core::json::JsonView;

constexpr std::array<std::string_view, member_count> names{"namespace",   "key",      "scope",  "owner",      "payload",
                                                           "fingerprint", "lease_ms", "ttl_ms", "on_unknown", "wait_ms",
                                                           "order",       "fence",    "result", "outcome"};

constexpr std::uint32_t bit(ItemMember member) {
  return 1U << static_cast<std::uint32_t>(member);
}
constexpr std::uint32_t named = bit(ItemMember::space) | bit(ItemMember::key) | bit(ItemMember::scope);
constexpr std::uint32_t compared = bit(ItemMember::payload) | bit(ItemMember::fingerprint) | bit(ItemMember::order);

// By ApiCall.
constexpr std::array<std::uint32_t, api_calls> known{
    named | compared | bit(ItemMember::owner) | bit(ItemMember::lease_ms) | bit(ItemMember::ttl_ms) |
        bit(ItemMember::on_unknown) | bit(ItemMember::wait_ms),
    named | bit(ItemMember::fence) | bit(ItemMember::lease_ms),
    named | bit(ItemMember::fence) | bit(ItemMember::result) | bit(ItemMember::outcome),
    named | bit(ItemMember::fence),
    named | compared,
};

std::string known_names(ApiCall call) {
  std::string text;
  for (std::size_t i = 0; i < member_count; ++i) {
    if ((known.at(static_cast<std::size_t>(call)) & (1U << i)) == 0) continue;
    text.append(text.empty() ? "" : ", ").append(names.at(i));
  }
  return text;
}

}  // namespace

const JsonView* Members::find(ItemMember member) const {
  const std::optional<JsonView>& value = own.at(static_cast<std::size_t>(member));
  if (value) return &*value;
  return defaults == nullptr ? nullptr : defaults->find(member);
}

std::string Members::pointer_to(ItemMember member) const {
  const auto place = static_cast<std::size_t>(member);
  if (!own.at(place) && defaults != nullptr && defaults->find(member) != nullptr) return defaults->pointer_to(member);
  return fmt::format("{}/{}", pointer, names.at(place));
}

std::expected<Members, Trouble> read_members(ApiCall call, JsonView object, std::string pointer) {
  Members members{.own = {}, .defaults = nullptr, .pointer = std::move(pointer)};
  if (object.kind() != JsonView::Kind::object) return std::unexpected(invalid(members.pointer, "This is an object."));
  std::optional<Trouble> trouble;
  object.members([&](std::string_view name, JsonView value) {
    const auto place = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
    const std::string at = members.pointer + "/" + escaped_token(name);
    if (place == member_count || (known.at(static_cast<std::size_t>(call)) & (1U << place)) == 0) {
      trouble = invalid(at, fmt::format("This call does not know the member. It knows: {}.", known_names(call)));
    } else if (members.own.at(place)) {
      trouble = invalid(at, "This member stands there twice.");
    } else {
      members.own.at(place) = value;
    }
    return !trouble;
  });
  if (trouble) return std::unexpected(*std::move(trouble));
  return members;
}

}  // namespace semel::api
