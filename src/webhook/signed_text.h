// The bytes that a signature covers, put together as a provider's file says.
//
// Unlike a key, they are simply one after the other, and what is absent and may be is nothing at all: so the senders do
// it.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "policy/expression.h"
#include "policy/request_view.h"

namespace semel::webhook {

struct SignedContext {
  std::string_view timestamp;  // as it was sent
  std::string_view url;        // what the sender called
};

std::expected<std::string, policy::PartError> render_signed(const policy::Expression& expression,
                                                            const policy::RequestView& request,
                                                            const SignedContext& context);

// What the sender may have called: the configured address and the target, and the same with the port of its scheme
// written out, or left out.
std::vector<std::string> url_candidates(std::string_view public_url, std::string_view target);

}  // namespace semel::webhook
