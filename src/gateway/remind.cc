#include "gateway/remind.h"

#include <string>
#include <utility>

#include "gateway/incoming.h"
#include "gateway/job.h"
#include "gateway/reminders.h"
#include "policy/expression.h"
#include "store/reminder.h"
#include <semel/async.h>

namespace semel::gateway {

Task<void> remind(const Incoming* incoming, const Job* job) {
  Reminders* const reminders = incoming->services.reminders;
  if (job->resolved.empty() || reminders == nullptr) co_return;
  store::Reminder reminder{.route = std::string(job->resolved), .key = job->identity.key_text, .target = {}};
  if (job->probe != nullptr) {
    auto target = policy::render_target(*job->probe, job->request, job->identity.key_text);
    if (target) reminder.target = *std::move(target);
  }
  co_await reminders->keep(job->identity.key, std::move(reminder));
}

}  // namespace semel::gateway
