// A request with many items: `{"items": […], "defaults": {…}}`, and its answer. Pure.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "api/access.h"
#include "api/item.h"
#include "api/result.h"
#include "api/trouble.h"
#include "api/work.h"
#include "config/config.h"
#include "core/json/view.h"

namespace semel::api {

bool is_batch(core::json::JsonView document);

struct BatchRequest {
  std::vector<core::json::JsonView> items;
  Members defaults;
};

// Refused as a whole: another member than these two, none or more than items_max items, or defaults that the call does
// not know.
std::expected<BatchRequest, Trouble> read_batch(ApiCall call, core::json::JsonView document);

// One job for each item. An item that is refused has its answer already, and so has one whose key stands in the batch
// before it.
std::vector<ApiJob> jobs_of(ApiCall call, const BatchRequest& batch, const config::ApiToken& token,
                            const ResultRules& rules, std::string_view base);

// `{"items": […]}`, each the body that it would have had alone; a problem that is no outcome stands in `problem`.
std::string batch_text(const std::vector<ApiJob>& jobs);

}  // namespace semel::api
