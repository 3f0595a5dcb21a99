// The pages of the listener, each with who may ask for it.
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "admin/handlers.h"
#include "admin/page.h"

namespace semel::admin {
namespace {

constexpr std::array all{
    Page{.path = "/healthz", .method = "GET", .access = Access::anyone, .handler = &health},
    Page{.path = "/readyz", .method = "GET", .access = Access::anyone, .handler = &readiness},
    Page{.path = "/metrics", .method = "GET", .access = Access::reader, .handler = &metrics},
    Page{.path = "/v1/webhooks/reopen", .method = "POST", .access = Access::changer, .handler = &reopen},
    Page{.path = "/v1/webhooks", .method = "GET", .access = Access::reader, .handler = &show_webhooks},
    Page{.path = "/v1/keys", .method = "GET", .access = Access::reader, .handler = &list_keys},
    Page{.path = "/v1/keys/find", .method = "POST", .access = Access::reader, .handler = &find_key},
    Page{.path = "/v1/keys/{id}", .method = "GET", .access = Access::reader, .handler = &show_key},
    Page{.path = "/v1/keys/{id}/response", .method = "GET", .access = Access::changer, .handler = &show_response},
    Page{.path = "/v1/keys/{id}/timeline", .method = "GET", .access = Access::reader, .handler = &show_timeline},
    Page{.path = "/v1/keys/{id}/resolve", .method = "POST", .access = Access::changer, .handler = &resolve_key},
    Page{.path = "/v1/keys/{id}/reopen", .method = "POST", .access = Access::changer, .handler = &reopen_key},
    Page{.path = "/v1/audit", .method = "GET", .access = Access::reader, .handler = &show_audit},
    Page{.path = "/v1/audits", .method = "GET", .access = Access::reader, .handler = &list_audits},
    Page{.path = "/v1/audits/findings", .method = "GET", .access = Access::reader, .handler = &list_findings},
    Page{.path = "/v1/audits/findings/{id}/close",
         .method = "POST",
         .access = Access::changer,
         .handler = &close_finding},
    Page{.path = "/v1/audits/findings/{id}/acknowledge",
         .method = "POST",
         .access = Access::changer,
         .handler = &acknowledge_finding},
    Page{.path = "/v1/audits/{id}/run", .method = "POST", .access = Access::changer, .handler = &run_audit},
    Page{.path = "/v1/now", .method = "GET", .access = Access::reader, .handler = &show_now},
    Page{.path = "/v1/config", .method = "GET", .access = Access::reader, .handler = &show_config},
    Page{.path = "/v1/session", .method = "GET", .access = Access::anyone, .handler = &show_session},
    Page{.path = "/v1/session", .method = "POST", .access = Access::anyone, .handler = &begin_session},
    Page{.path = "/v1/session", .method = "DELETE", .access = Access::anyone, .handler = &end_session},
    Page{.path = "/", .method = "GET", .access = Access::anyone, .handler = &dashboard},
    Page{.path = "/assets/*", .method = "GET", .access = Access::anyone, .handler = &dashboard},
    Page{.path = "/v1/tail", .method = "GET", .access = Access::reader, .handler = nullptr, .stream = &stream_tail},
    Page{.path = "/v1/tally", .method = "GET", .access = Access::reader, .handler = &show_tally},
    Page{.path = "/v1/doctor", .method = "GET", .access = Access::reader, .handler = &show_doctor},
    Page{.path = "/v1/inbox", .method = "GET", .access = Access::reader, .handler = &list_inbox},
    // Before {id}, which would take their names for one.
    Page{.path = "/v1/inbox/jobs", .method = "GET", .access = Access::reader, .handler = &list_jobs},
    Page{.path = "/v1/inbox/jobs", .method = "POST", .access = Access::changer, .handler = &plan_or_start_job},
    Page{.path = "/v1/inbox/jobs/{id}", .method = "GET", .access = Access::reader, .handler = &show_job},
    Page{.path = "/v1/inbox/jobs/{id}", .method = "DELETE", .access = Access::changer, .handler = &cancel_job},
    Page{.path = "/v1/inbox/export",
         .method = "GET",
         .access = Access::changer,
         .handler = nullptr,
         .stream = &stream_export},
    Page{.path = "/v1/inbox/{id}", .method = "GET", .access = Access::reader, .handler = &show_event},
    Page{.path = "/v1/inbox/{id}/body", .method = "GET", .access = Access::changer, .handler = &show_event_body},
    Page{.path = "/v1/inbox/{id}/redeliver", .method = "POST", .access = Access::changer, .handler = &redeliver_event},
    Page{.path = "/v1/inbox/{id}/discard", .method = "POST", .access = Access::changer, .handler = &discard_event},
    Page{.path = "/v1/inbox/{id}/resolve", .method = "POST", .access = Access::changer, .handler = &resolve_event},
    Page{.path = "/v1/destinations", .method = "GET", .access = Access::reader, .handler = &list_destinations},
    Page{.path = "/v1/destinations/{id}/pause",
         .method = "POST",
         .access = Access::changer,
         .handler = &pause_destination},
    Page{.path = "/v1/destinations/{id}/resume",
         .method = "POST",
         .access = Access::changer,
         .handler = &resume_destination},
    Page{.path = "/v1/outbox", .method = "GET", .access = Access::reader, .handler = &list_outboxes},
    Page{.path = "/v1/openapi.json", .method = "GET", .access = Access::reader, .handler = &openapi},
};

bool is_for(const Page& page, std::string_view path) {
  constexpr std::string_view any = "{id}";
  if (const std::size_t at = page.path.find(any); at != std::string_view::npos) {
    if (!path.starts_with(page.path.substr(0, at))) return false;
    const std::size_t end = std::min(path.find('/', at), path.size());
    return end > at && path.substr(end) == page.path.substr(at + any.size());
  }
  if (!page.path.ends_with("/*")) return path == page.path;
  return path.starts_with(page.path.substr(0, page.path.size() - 1));
}

bool takes(const Page& page, std::string_view method) {
  return method == page.method || (method == "HEAD" && page.method == "GET");
}

}  // namespace

std::span<const Page> table() {
  return all;
}

Found find(std::span<const Page> pages, std::string_view method, std::string_view path) {
  Found found;
  for (const Page& page : pages) {
    if (!is_for(page, path)) continue;
    if (takes(page, method)) return {.page = &page, .allowed = {}};
    if (!found.allowed.empty()) found.allowed += ", ";
    found.allowed += page.method == "GET" ? "GET, HEAD" : page.method;
  }
  return found;
}

}  // namespace semel::admin
