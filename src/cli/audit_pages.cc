// A page is an effect that Semel itself asks for.
#include "cli/audit_pages.h"

#include <expected>
#include <functional>
#include <string>
#include <utility>

#include "auditor/auditor.h"
#include "auditor/blocking.h"
#include "gateway/dispatcher.h"
#include "gateway/effect.h"
#include <semel/async.h>
#include <semel/result.h>

namespace semel::cli {
namespace {

Async<gateway::EffectAnswer> accepted(gateway::Dispatcher* dispatcher, gateway::EffectOrder order) {
  gateway::EffectAnswer answer = co_await gateway::accept_effect(dispatcher, std::move(order));
  co_return answer;
}

}  // namespace

// The same key with another text was sent before: the finding has only been seen once more since.
std::function<Result<void>(const auditor::AuditPage&)> audit_pages(gateway::Dispatcher* dispatcher) {
  if (dispatcher == nullptr) return {};
  return [dispatcher](const auditor::AuditPage& page) -> Result<void> {
    gateway::EffectOrder order;
    order.source = "audit";
    order.key = page.key;
    order.destination = page.to;
    order.type = "audit.finding";
    order.body = page.body;
    order.fields = {{.name = "Content-Type", .value = "application/json"}};
    const Result<gateway::EffectAnswer> answer = auditor::wait_for(accepted(dispatcher, std::move(order)));
    if (!answer) return std::unexpected(answer.error());
    using End = gateway::EffectEnd;
    const bool sent = answer->end == End::accepted || answer->end == End::known || answer->end == End::reused;
    if (sent) return {};
    return fail(answer->end == End::refused ? Code::invalid : Code::unavailable, answer->detail);
  };
}

}  // namespace semel::cli
