// GET /v1/openapi.json: what there is here, for programs.
#include "admin/openapi.h"

#include <string>

#include "admin/answers.h"
#include "admin/caller.h"
#include "admin/handlers.h"
#include "admin/sources.h"
#include "policy/request_view.h"
#include <semel/async.h>
#include <semel/response.h>

namespace semel::admin {

Task<Response> openapi(const Sources* /*sources*/, policy::RequestView /*request*/, Caller /*caller*/) {
  co_return json_answer(200, std::string(openapi_text()));
}

}  // namespace semel::admin
