// What tests of the claims API begin with: a token, and items from text.
#pragma once

#include <expected>
#include <string>

#include "api/access.h"
#include "api/item.h"
#include "api/trouble.h"
#include "config/config.h"
#include "core/json/view.h"
#include "core/sha256.h"

namespace semel::test {

inline const api::ResultRules rules{
    .store_body_max = 64, .head_bytes_max = 128, .replayed_header = "Idempotent-Replayed"};

inline config::ApiToken token_for(std::string space) {
  config::ApiToken token;
  token.name = "worker";
  token.secret_sha256 = core::sha256("secret-of-worker");
  token.namespaces = {std::move(space)};
  return token;
}

// `text` must outlive the answer.
inline std::expected<api::Item, api::Trouble> item_of(api::ApiCall call, const std::string& text,
                                                      const config::ApiToken& token = token_for("orders")) {
  const auto members = api::read_members(call, core::json::JsonView(text), {});
  if (!members) return std::unexpected(members.error());
  return api::read_item(call, *members, token, rules);
}

inline std::string refusal(const std::expected<api::Item, api::Trouble>& item) {
  return item ? "fine" : std::to_string(item.error().status) + " " + item.error().pointer;
}

}  // namespace semel::test
