// The bytes that a signature covers, put together as a provider's file says.
//
// Unlike the values of a key, they simply follow each other, and an optional part that is absent adds nothing: senders
// do it this way.
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
  std::string_view url;        // the URL that the sender called
};

std::expected<std::string, policy::PartError> render_signed(const policy::Expression& expression,
                                                            const policy::RequestView& request,
                                                            const SignedContext& context);

// The URLs that the sender may have called: the configured address and the target, with and without the default port of
// its scheme.
std::vector<std::string> url_candidates(std::string_view public_url, std::string_view target);

}  // namespace semel::webhook
