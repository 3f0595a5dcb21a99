// The protocol is decide()'s; here it gets its words.
#include "api/answer.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "api/access.h"
#include "api/item.h"
#include "api/result.h"
#include "api/trouble.h"
#include "core/decision.h"
#include "core/json/writer.h"
#include "policy/reply.h"
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/once.h>
#include <semel/problem.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::api {
namespace {

using core::json::JsonWriter;

ItemAnswer plain(ItemOutcome outcome) {
  ItemAnswer answer{.status = 200, .outcome = outcome, .body = {}};
  JsonWriter(answer.body).begin_object().text("outcome", name(outcome)).end_object();
  return answer;
}

// An outcome that is a problem, too. `attempt`: of the claim that stands in the way; 0 if it is not told.
ItemAnswer told(ItemOutcome outcome, const Trouble& trouble, std::uint64_t attempt, std::string_view base) {
  ItemAnswer answer{.status = trouble.status,
                    .outcome = outcome,
                    .problem = true,
                    .retry_after = trouble.retry_after,
                    .slug = trouble.slug,
                    .body = {}};
  JsonWriter json(answer.body);
  json.begin_object().text("outcome", name(outcome));
  write_members(json, trouble, base);
  if (attempt > 0) json.number("attempt", attempt);
  json.end_object();
  return answer;
}

ItemAnswer done(const Held& held, std::string_view base) {
  const Record& record = held.record;
  if (record.response == nullptr) return refused(of_store({.code = Code::corrupt, .detail = {}}), base);
  ItemAnswer answer{.status = 200, .outcome = ItemOutcome::done, .body = {}};
  JsonWriter json(answer.body);
  json.begin_object().text("outcome", name(ItemOutcome::done)).number("attempt", record.fence.number);
  json.text("expires_at", policy::rfc3339(record.expires_at)).name("result");
  write_result(json, *record.response);
  json.end_object();
  return answer;
}

ItemAnswer granted(const Item& item, const Granted& grant) {
  ItemAnswer answer{.status = 201, .outcome = ItemOutcome::granted, .body = {}};
  JsonWriter json(answer.body);
  json.begin_object().text("outcome", name(ItemOutcome::granted));
  json.text("fence", fence_text(grant.fence, item.key.home)).number("attempt", grant.fence.number);
  json.text("expires_at", policy::rfc3339(grant.expires_at)).number("lease_ms", item.terms.lease.count());
  json.end_object();
  return answer;
}

ItemAnswer held_answer(const Item& item, const Claim& claim, const Fingerprint& fingerprint, std::string_view base) {
  const auto* const ended = std::get_if<Held>(&claim);
  const bool own = ended != nullptr && ended->record.state == Record::State::released;
  if (own) return told(ItemOutcome::fenced, owner_ended(), ended->record.fence.number, base);
  const Policy policy{.on_unknown = item.on_unknown};
  const core::Decision decision = core::decide(claim, fingerprint, policy);
  const auto* const held = std::get_if<Held>(&claim);
  if (std::holds_alternative<core::Replay>(decision)) return done(*held, base);
  if (std::holds_alternative<Superseded>(decision)) return plain(ItemOutcome::superseded);
  const auto* const reject = std::get_if<core::Reject>(&decision);
  if (reject == nullptr) return refused(of_store({.code = Code::corrupt, .detail = {}}), base);
  const Trouble trouble = of_problem(reject->problem, reject->retry_after);
  if (held == nullptr) return told(ItemOutcome::busy, trouble, 0, base);
  if (reject->problem.type == ProblemType::key_reused) return told(ItemOutcome::key_reused, trouble, 0, base);
  const bool runs = reject->problem.type == ProblemType::in_flight;
  return told(runs ? ItemOutcome::running : ItemOutcome::unknown, trouble, held->record.fence.number, base);
}

}  // namespace

std::string_view name(ItemOutcome outcome) {
  constexpr std::array<std::string_view, item_outcomes> names{
      "granted", "done",    "running",   "unknown",  "key-reused", "superseded", "busy",
      "free",    "renewed", "completed", "released", "fenced",     "refused"};
  return names.at(static_cast<std::size_t>(outcome));
}

ItemAnswer refused(const Trouble& trouble, std::string_view base) {
  ItemAnswer answer{.status = trouble.status,
                    .outcome = ItemOutcome::refused,
                    .problem = true,
                    .retry_after = trouble.retry_after,
                    .slug = trouble.slug,
                    .body = {}};
  JsonWriter json(answer.body);
  json.begin_object();
  write_members(json, trouble, base);
  json.end_object();
  return answer;
}

ItemAnswer answer_claim(const Item& item, const Result<Claim>& claimed, std::string_view base) {
  if (!claimed) return refused(of_store(claimed.error()), base);
  if (const auto* grant = std::get_if<Granted>(&*claimed)) return granted(item, *grant);
  return held_answer(item, *claimed, item.fingerprint.value_or(Fingerprint{}), base);
}

ItemAnswer answer_look(const Item& item, const Result<std::optional<Held>>& found, std::string_view base) {
  if (!found) return refused(of_store(found.error()), base);
  const std::optional<Held>& held = *found;
  if (!held) return plain(ItemOutcome::free);
  const Record& record = held->record;
  const Fingerprint asked = item.fingerprint.value_or(record.fingerprint);
  if (record.state == Record::State::released) {
    // Such a key is free for the request whose outcome was once unknown, and for no other (G4).
    const bool free = !record.doubted || asked == record.fingerprint;
    if (free) return plain(ItemOutcome::free);
    return told(ItemOutcome::key_reused, of_problem(Problem::of(ProblemType::key_reused), Millis{0}), 0, base);
  }
  return held_answer(item, Claim(*held), asked, base);
}

ItemAnswer answer_holder(ApiCall call, const Result<void>& ended, std::string_view base) {
  if (!ended && ended.error().code == Code::fenced) return told(ItemOutcome::fenced, claim_lost(), 0, base);
  if (!ended) return refused(of_store(ended.error()), base);
  if (call == ApiCall::renew) return plain(ItemOutcome::renewed);
  return plain(call == ApiCall::complete ? ItemOutcome::completed : ItemOutcome::released);
}

}  // namespace semel::api
