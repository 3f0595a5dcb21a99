// What an operator does to a key: settle an unknown outcome, open a finished key again, read a stored answer.
//
// An act is written to the audit log before it is done, and what came of it is written behind it
// (gateway/logged_act.h).
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "admin/answers.h"
#include "admin/caller.h"
#include "admin/desk_request.h"
#include "admin/handlers.h"
#include "admin/inbox_request.h"
#include "admin/key_json.h"
#include "admin/probed.h"
#include "admin/redact.h"
#include "admin/sources.h"
#include "admin/suggested.h"
#include "core/encoding.h"
#include "core/json/writer.h"
#include "core/settlement.h"
#include "gateway/logged_act.h"
#include "policy/fields.h"
#include "policy/request_view.h"
#include "store/audit_log.h"
#include "store/desk.h"
#include <semel/async.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::admin {
namespace {

// What is asked for, as far as the body says it.
struct Asked {
  std::string what;  // the word for the audit log
  std::string reason;
  std::uint64_t fence = 0;
  core::Settlement settlement;
};

Result<SharedResponse> response_in(const boost::json::object& body) {
  const boost::json::value* const given = body.if_contains("response");
  if (given == nullptr || !given->is_object()) {
    return fail(Code::invalid, "response: the answer to replay is needed: status, fields and body");
  }
  const boost::json::object& object = given->get_object();
  auto response = std::make_shared<Response>();
  const boost::json::value* const status = object.if_contains("status");
  if (status == nullptr || !status->is_int64() || status->get_int64() < 200 || status->get_int64() > 599) {
    return fail(Code::invalid, "response.status: must be 200 to 599");
  }
  response->status = static_cast<std::uint16_t>(status->get_int64());
  response->body = text_in(object, "body").value_or("");
  if (const auto packed = text_in(object, "body_base64")) {
    std::optional<std::string> bytes = core::from_base64(*packed);
    if (!bytes) return fail(Code::invalid, "response.body_base64: is not base64");
    response->body = *std::move(bytes);
  }
  const boost::json::value* const fields = object.if_contains("fields");
  if (fields == nullptr) return response;
  if (!fields->is_array()) return fail(Code::invalid, "response.fields: must be a list of name and value");
  for (const boost::json::value& each : fields->get_array()) {
    const auto name = each.is_object() ? text_in(each.get_object(), "name") : std::nullopt;
    const auto value = each.is_object() ? text_in(each.get_object(), "value") : std::nullopt;
    const bool sound = name && value && policy::is_field_name(*name) && !policy::is_framing(*name) &&
                       !policy::is_hop_by_hop(*name) && value->find_first_of(std::string("\r\n\0", 3)) == value->npos;
    if (!sound) return fail(Code::invalid, "response.fields: each needs a name and a value of one line, no framing");
    response->fields.push_back({.name = *name, .value = *value});
  }
  return response;
}

// What resolve and reopen have in common.
Result<Asked> asked_in(const boost::json::object& body) {
  Asked asked;
  const boost::json::value* const fence = body.if_contains("fence");
  if (fence == nullptr || !fence->is_int64() || fence->get_int64() < 1) {
    return fail(Code::invalid, "fence: the number of the fence that this was decided on is needed");
  }
  asked.fence = static_cast<std::uint64_t>(fence->get_int64());
  Result<std::string> reason = reason_in(body);
  if (!reason) return std::unexpected(std::move(reason.error()));
  asked.reason = *std::move(reason);
  asked.settlement.act = gateway::random_act();
  return asked;
}

Result<Asked> resolve_in(const boost::json::object& body) {
  Result<Asked> asked = asked_in(body);
  if (!asked) return asked;
  const std::string as = text_in(body, "as").value_or("");
  if (as != "done" && as != "not-done") return fail(Code::invalid, "as: must be done or not-done");
  asked->what = "resolve as " + as;
  asked->settlement.verdict = as == "done" ? core::Settlement::Verdict::done : core::Settlement::Verdict::not_done;
  if (as == "not-done") return asked;
  if (const std::optional<std::string> from = text_in(body, "from")) {
    if (*from != "probe" && *from != "suggestion") return fail(Code::invalid, "from: must be probe or suggestion");
    if (body.contains("response")) return fail(Code::invalid, "response: it is not yours with `from`, so give none");
    asked->what += " from the " + *from;
    return asked;  // the answer is asked for later
  }
  Result<SharedResponse> response = response_in(body);
  if (!response) return std::unexpected(std::move(response.error()));
  asked->settlement.response = *std::move(response);
  return asked;
}

gateway::Actor actor_of(const Caller& caller) {
  return {.name = caller.name,
          .role = std::string(name_of(caller.role)),
          .known_by = std::string(caller.known_by),
          .from = caller.from};
}

// The one key with the id in the path.
Task<std::expected<Held, Response>> key_of(const Sources* sources, policy::RequestView request) {
  if (sources->desk == nullptr || sources->audit == nullptr) {
    co_return std::unexpected(error_answer(501, "this store has no desk"));
  }
  const std::optional<std::string> id = id_in(request);
  if (!id || !whole_id(*id)) co_return std::unexpected(error_answer(400, "id: must be the whole id, 64 digits"));
  const Result<std::vector<Held>> found = co_await sources->desk->find(*id, 1);
  if (!found) co_return std::unexpected(error_answer(503, found.error().detail));
  if (found->empty()) {
    co_return std::unexpected(error_answer(404, "there is no key with this id; keys that have expired are gone"));
  }
  co_return found->front();
}

Response conflict(std::string_view why, const std::optional<Held>& now) {
  Response answer = error_answer(409, why);
  if (!now) return answer;
  answer.body.resize(answer.body.rfind('}'));
  answer.body += ",\"key\":";
  core::json::JsonWriter json(answer.body);
  write_key(json, *now);
  answer.body += "}\n";
  return answer;
}

Task<Response> act(const Sources* sources, policy::RequestView request, Caller caller, Asked asked) {
  const std::expected<Held, Response> before = co_await key_of(sources, request);
  if (!before) co_return before.error();
  const Record& record = before->record;
  if (record.fence.number != asked.fence) {
    co_return conflict("the key has moved on to fence " + std::to_string(record.fence.number), *before);
  }
  const bool reopens = asked.settlement.verdict == core::Settlement::Verdict::reopened;
  if (record.state != (reopens ? Record::State::done : Record::State::unknown)) {
    co_return conflict("the key is " + std::string(state_name(record.state)) +
                           (reopens ? "; only one that is done can be reopened" : "; only an unknown one is resolved"),
                       *before);
  }
  asked.settlement.fence = record.fence;
  const gateway::ActBooks books{.desk = *sources->desk,
                                .audit = *sources->audit,
                                .history = sources->history,
                                .forget = sources->forget,
                                .now = sources->now};
  gateway::LoggedAct logged_act{.what = std::move(asked.what),
                                .reason = std::move(asked.reason),
                                .actor = actor_of(caller),
                                .settlement = asked.settlement};
  const gateway::ActEnd end = co_await gateway::settle_logged(&books, *before, std::move(logged_act));
  if (!end.logged) {
    co_return error_answer(503,
                           "nothing was done, because the audit log cannot be written: " + end.logged.error().detail);
  }
  const Result<void>& settled = end.settled;
  const bool open = !settled && settled.error().code != Code::fenced;
  const std::expected<Held, Response> after = co_await key_of(sources, request);
  if (open)
    co_return error_answer(503, "it is not known whether this was done; look at the key: " + settled.error().detail);
  if (!settled) co_return conflict(settled.error().detail, after ? std::optional(*after) : std::nullopt);
  std::string body;
  core::json::JsonWriter json(body);
  json.begin_object().number("audit", *end.logged);
  // Another gateway that was not told may remember the answer of a finished key for so long. Of an unknown one nobody
  // remembers anything.
  json.number("in_effect_within_ms", reopens ? sources->forgotten_within.count() : 0);
  if (after) write_key(json.name("key"), *after);
  json.end_object();
  co_return json_answer(200, std::move(body));
}

}  // namespace

Task<Response> resolve_key(const Sources* sources, policy::RequestView request, Caller caller) {
  const std::optional<boost::json::object> body = object_in(request);
  if (!body) co_return error_answer(400, "the body must be a JSON object");
  Result<Asked> asked = resolve_in(*body);
  if (!asked) co_return error_answer(400, asked.error().detail);
  const bool asks = asked->settlement.verdict == core::Settlement::Verdict::done && !asked->settlement.response;
  if (asks) {
    std::expected<SharedResponse, Response> said;
    if (text_in(*body, "from") == "suggestion") {
      said = co_await answer_of_suggestion(sources, request);
    } else {
      said = co_await answer_of_probe(sources, request, &*body);
    }
    if (!said) co_return said.error();
    asked->settlement.response = *std::move(said);
  }
  co_return co_await act(sources, request, std::move(caller), *std::move(asked));
}

Task<Response> reopen_key(const Sources* sources, policy::RequestView request, Caller caller) {
  const std::optional<boost::json::object> body = object_in(request);
  if (!body) co_return error_answer(400, "the body must be a JSON object");
  Result<Asked> asked = asked_in(*body);
  if (!asked) co_return error_answer(400, asked.error().detail);
  asked->what = "reopen";
  asked->settlement.verdict = core::Settlement::Verdict::reopened;
  co_return co_await act(sources, request, std::move(caller), *std::move(asked));
}

// The body of a stored answer is the customer's, so reading it is an act, too.
Task<Response> show_response(const Sources* sources, policy::RequestView request, Caller caller) {
  const std::expected<Held, Response> found = co_await key_of(sources, request);
  if (!found) co_return found.error();
  if (found->record.response == nullptr) co_return error_answer(404, "the key has no stored answer");
  const gateway::LoggedAct act{.what = "read response", .reason = {}, .actor = actor_of(caller), .settlement = {}};
  std::string text = gateway::entry_text(act, *found, 0, sources->now());
  const Result<store::AuditEntry> logged = co_await sources->audit->append(std::move(text));
  if (!logged)
    co_return error_answer(503, "not shown, because the audit log cannot be written: " + logged.error().detail);
  const Response& response = *found->record.response;
  std::string body;
  core::json::JsonWriter json(body);
  json.begin_object().number("status", response.status).boolean("body_kept", response.body_kept);
  write_shown(json, response, sources->config()->admin.redact);
  json.end_object();
  co_return json_answer(200, std::move(body));
}

}  // namespace semel::admin
