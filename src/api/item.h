// One item of a call: what it names, checked against what its token may do. Pure.
//
//   request    one item, or {"items": […], "defaults": {…}}
//   item       members by name; those that it lacks come from `defaults`
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "api/access.h"
#include "api/result.h"
#include "api/trouble.h"
#include "config/config.h"
#include "core/json/view.h"
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/response.h>
#include <semel/store.h>

namespace semel::api {

inline constexpr std::size_t items_max = 500;
inline constexpr std::size_t request_bytes_max = 1U << 20U;
inline constexpr Millis wait_max{30'000};

// The members of items, of all calls together.
enum class ItemMember : std::uint8_t {
  space,
  key,
  scope,
  owner,
  payload,
  fingerprint,
  lease_ms,
  ttl_ms,
  on_unknown,
  wait_ms,
  order,
  fence,
  result,
  outcome
};
inline constexpr std::size_t member_count = 14;

// The members that an item has, and where: for the pointer in a refusal.
struct Members {
  std::array<std::optional<core::json::JsonView>, member_count> own;
  const Members* defaults = nullptr;
  std::string pointer;  // of the object

  [[nodiscard]] const core::json::JsonView* find(ItemMember member) const;
  [[nodiscard]] std::string pointer_to(ItemMember member) const;
};

// `pointer` is where `object` stands in the request. Refused: not an object, a member that the call does not know, or
// one that stands there twice.
std::expected<Members, Trouble> read_members(ApiCall call, core::json::JsonView object, std::string pointer);

// What an item asks for. Only what its call uses is set.
struct Item {
  Key key;
  std::optional<Fingerprint> fingerprint;  // none: a look does not compare
  Policy::OnUnknown on_unknown = Policy::OnUnknown::hold;
  Terms terms;  // lease, ttl, owner, order; a renewal has only the lease
  Millis wait{0};
  Fence fence;
  SharedResponse response;  // null: the outcome is unknown
};

std::expected<Item, Trouble> read_item(ApiCall call, const Members& members, const config::ApiToken& token,
                                       const ResultRules& rules);

// A fence as text, and back. An event that is ordered lives where its object does, and its fence says where.
std::string fence_text(Fence fence, std::uint64_t home);
struct NamedFence {
  Fence fence;
  std::uint64_t home = 0;
};
std::optional<NamedFence> parse_fence(std::string_view text);

}  // namespace semel::api
