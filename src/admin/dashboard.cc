// The page of the dashboard and its files. They have no secrets, so they need no token: what the page shows, it asks
// the other rows of the table for.
#include <algorithm>
#include <string>
#include <string_view>

#include "admin/answers.h"
#include "admin/caller.h"
#include "admin/handlers.h"
#include "admin/sources.h"
#include "admin/web.h"
#include "policy/request_view.h"
#include <semel/async.h>
#include <semel/response.h>

namespace semel::admin {
namespace {

// Scripts and styles only from here, no markup made from text, nobody may frame the page.
constexpr std::string_view content_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

Response file_answer(const Sources& sources, std::string_view path) {
  const auto files = web_files();
  const auto found = std::ranges::find(files, path, &WebFile::path);
  if (found == files.end() || !sources.config()->admin.dashboard) return error_answer(404, "no such page");
  const bool is_page = path == "/";
  Response answer{.status = 200, .fields = {}, .body = std::string(found->packed)};
  answer.fields.push_back({.name = "Content-Type", .value = std::string(found->type)});
  answer.fields.push_back({.name = "Content-Encoding", .value = "gzip"});
  const std::string_view keep = is_page ? "no-store" : "public, max-age=31536000, immutable";
  answer.fields.push_back({.name = "Cache-Control", .value = std::string(keep)});
  if (is_page) {
    answer.fields.push_back({.name = "Content-Security-Policy", .value = std::string(content_policy)});
    answer.fields.push_back({.name = "Cross-Origin-Opener-Policy", .value = "same-origin"});
  }
  return answer;
}

}  // namespace

Task<Response> dashboard(const Sources* sources, policy::RequestView request, Caller /*caller*/) {
  co_return file_answer(*sources, request.path);
}

}  // namespace semel::admin
