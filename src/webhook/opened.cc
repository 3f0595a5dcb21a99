#include "webhook/opened.h"

#include <algorithm>
#include <string_view>

#include "policy/multipart.h"
#include "policy/request_view.h"
#include "webhook/provider.h"

namespace semel::webhook {

policy::RequestView opened(const Provider& provider, policy::RequestView request) {
  if (provider.json_part.empty() || request.json_part.data() != nullptr) return request;
  request.json_part = std::string_view("");
  const auto parts = policy::multipart_form(request);
  if (!parts) return request;
  const auto found = std::ranges::find(*parts, provider.json_part, &policy::FormPart::name);
  if (found != parts->end() && !found->is_file && !found->content.empty()) request.json_part = found->content;
  return request;
}

}  // namespace semel::webhook
