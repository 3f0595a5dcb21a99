// What the caller is told of one item, as JSON. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/access.h"
#include "api/item.h"
#include "api/trouble.h"
#include <semel/clock.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::api {

// The outcomes of docs/claims.md, and `refused` for a problem that is none of them.
enum class ItemOutcome : std::uint8_t {
  granted,
  done,
  running,
  unknown,
  key_reused,
  superseded,
  busy,
  free,
  renewed,
  completed,
  released,
  fenced,
  refused
};
inline constexpr std::size_t item_outcomes = 13;
std::string_view name(ItemOutcome outcome);

struct ItemAnswer {
  std::uint16_t status = 200;
  ItemOutcome outcome = ItemOutcome::refused;
  bool problem = false;     // the body is application/problem+json
  Millis retry_after{0};    // none if zero
  std::string_view slug{};  // of the problem
  std::string body;         // a JSON object
};

// `base` is reply.problem_base.
ItemAnswer refused(const Trouble& trouble, std::string_view base);
ItemAnswer answer_claim(const Item& item, const Result<Claim>& claimed, std::string_view base);
ItemAnswer answer_look(const Item& item, const Result<std::optional<Held>>& found, std::string_view base);
// Of renew, complete and release.
ItemAnswer answer_holder(ApiCall call, const Result<void>& ended, std::string_view base);

}  // namespace semel::api
