// A request from its arrival to its reply, with three pure steps around once(): look() finds its key, judge() decides
// what its answer means for the key, tell() makes the reply. The two run() differ only in how they wait.
#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "config/match.h"
#include "core/check.h"
#include "core/field_view.h"
#include "guard/verifier.h"
#include "policy/expression.h"
#include "policy/identify.h"
#include "policy/keep.h"
#include "policy/pattern.h"
#include "policy/reply.h"
#include "policy/request_view.h"
#include "policy/route.h"
#include "webhook/authenticate.h"
#include "webhook/event.h"
#include "webhook/fetched_keys.h"
#include "webhook/handshake.h"
#include "webhook/provider.h"
#include <semel/async.h>
#include <semel/blocking_once.h>
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/guard.h>
#include <semel/http_request.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/problem.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>
#include <semel/webhook.h>

namespace semel {
namespace {

// Straight to the handler: nothing is promised, nothing is kept.
struct Pass {};

using Look = std::variant<policy::Identity, Pass, Response>;

std::vector<FieldView> views_of(const std::vector<Field>& fields) {
  std::vector<FieldView> views;
  views.reserve(fields.size());
  for (const Field& field : fields) views.push_back({.name = field.name, .value = field.value});
  return views;
}

Response failed_handler() {
  return policy::plain_reply(500, "The handler of this request failed.");
}

Result<policy::Expression> parsed(const char* name, const std::string& text) {
  auto expression = policy::parse_expression(text);
  if (expression && expression->has(policy::PartKind::jwt)) {
    return fail(Code::invalid, std::string(name) +
                                   ": tokens are verified by the gateway only; pass who the caller is "
                                   "in a header of your own");
  }
  if (!expression) return fail(Code::invalid, std::string(name) + ": " + expression.error().message);
  return *std::move(expression);
}

}  // namespace

class Guard::Impl {
 public:
  policy::Route route;
  policy::ReplyConfig reply;
  std::size_t body_bytes_max = 0;
  std::optional<WebhookVerifier> webhook;

  [[nodiscard]] Look look(const policy::RequestView& request) const;
  [[nodiscard]] Outcome judge(const Response& said) const;
  [[nodiscard]] Response tell(Answer answer, std::optional<Response> said) const;
  [[nodiscard]] Response pass_on(Response said) const;

  static Task<Response> run(std::shared_ptr<const Impl> impl, Once* once, HttpRequest request, Handler handler,
                            Probe probe);

 private:
  // The action of once(). `said` outlives it: the first caller gets the handler's whole answer.
  static Task<Outcome> attempt(const Impl* rules, Handler* handler, std::optional<Response>* said, Fence fence);
  [[nodiscard]] Look look_at_event(const policy::RequestView& request) const;
  // What the webhook's provider wants to hear; null if that is the handler's own answer.
  [[nodiscard]] const webhook::Acknowledgement* acknowledgement() const {
    if (!webhook) return nullptr;
    const std::optional<webhook::Acknowledgement>& ack = webhook->endpoint().provider.ack;
    return ack ? &*ack : nullptr;
  }
  [[nodiscard]] Response refuse(ProblemType type, const std::string& detail = {}) const {
    return policy::problem_reply(Problem::of(type), Millis{0}, reply, detail);
  }
};

Look Guard::Impl::look(const policy::RequestView& request) const {
  if (webhook) return look_at_event(request);
  if (route.key == KeyMode::off) return Pass{};
  if (!config::lists(route, request.method)) {
    if (config::misspelled(route, request.method)) return policy::plain_reply(400, config::misspelled_detail);
    return Pass{};
  }
  if (const auto why = policy::doubtful_path(request.path)) {
    return policy::plain_reply(400, "The path holds " + std::string(*why) + ", which programs read in different ways.");
  }
  policy::Keyed keyed = policy::find_key(route, request);
  if (const auto* refusal = std::get_if<policy::Refusal>(&keyed)) {
    return policy::problem_reply(refusal->problem, Millis{0}, reply, refusal->detail);
  }
  if (std::holds_alternative<policy::Keyless>(keyed)) return Pass{};
  if (request.body.size() > body_bytes_max) return refuse(ProblemType::body_too_large);
  return std::get<policy::Identity>(policy::identify(route, request, std::move(keyed)));
}

Look Guard::Impl::look_at_event(const policy::RequestView& request) const {
  const guard::WebhookEndpoint& endpoint = core::present(webhook, "only a webhook's guard sees events").endpoint();
  if (request.body.size() > body_bytes_max) return refuse(ProblemType::body_too_large);
  const auto shake = [&](webhook::Stage stage) {
    return webhook::answer_handshake(endpoint.provider, endpoint.lock, endpoint.verify_token, request, stage);
  };
  if (auto hello = shake(webhook::Stage::before_signature)) return std::move(hello->response);
  const webhook::Judged judged = endpoint.judge(request);
  const auto* authentic = std::get_if<webhook::Authentic>(&judged);
  if (authentic == nullptr) return refuse(ProblemType::signature_invalid);
  if (auto hello = shake(webhook::Stage::after_signature)) return std::move(hello->response);
  policy::Identified identified = endpoint.identify(request, *authentic);
  if (auto* identity = std::get_if<policy::Identity>(&identified)) return std::move(*identity);
  if (const auto* refusal = std::get_if<policy::Refusal>(&identified)) {
    return policy::problem_reply(refusal->problem, Millis{0}, reply, refusal->detail);
  }
  return Pass{};
}

Outcome Guard::Impl::judge(const Response& said) const {
  const std::vector<FieldView> fields = views_of(said.fields);
  const policy::Judgement judgement = semel::policy::judge(said.status, fields, route.target.keep);
  auto response = std::make_shared<Response>();
  response->status = said.status;
  const bool success = said.status >= 200 && said.status < 300;
  const webhook::Acknowledgement* const ack = acknowledgement();
  if (judgement.verdict == Verdict::keep && success && ack != nullptr) {
    *response = webhook::acknowledgement_reply(*ack);
  } else if (judgement.verdict == Verdict::keep) {
    const policy::KeepTerms terms{.store_body_max = route.target.store_body_max,
                                  .replay_fields = route.target.replay_fields,
                                  .replayed_header = reply.replayed_header};
    *response = policy::to_keep(said.status, fields, said.body, terms);
  }
  return {.verdict = judgement.verdict, .response = std::move(response)};
}

// The handler's own answer, without the fields that only we set.
Response Guard::Impl::pass_on(Response said) const {
  Response reply_to{.status = said.status, .fields = {}, .body = std::move(said.body)};
  const auto add = [&](std::string_view name, std::string_view value) {
    reply_to.fields.push_back({.name = std::string(name), .value = std::string(value)});
  };
  policy::to_client(views_of(said.fields), reply.replayed_header, add);
  return reply_to;
}

Response Guard::Impl::tell(Answer answer, std::optional<Response> said) const {
  if (const auto* ran = std::get_if<Ran>(&answer)) {
    const bool kept = ran->outcome.verdict == Verdict::keep;
    const bool acknowledged = kept && acknowledgement() != nullptr;
    Response first = acknowledged || !said ? *ran->outcome.response : pass_on(*std::move(said));
    if (kept) first.fields.push_back(policy::expires_mark(ran->expires_at));
    return first;
  }
  if (const auto* replayed = std::get_if<Replayed>(&answer)) {
    Result<Response> again = policy::replay_reply(*replayed->response, replayed->expires_at, reply);
    return again ? *std::move(again) : refuse(ProblemType::record_corrupt);
  }
  const auto& refused = std::get<Refused>(answer);
  return policy::problem_reply(refused.problem, refused.retry_after, reply);
}

Result<Guard> Guard::make(const Guard::Rules& rules) {
  auto impl = std::make_shared<Impl>();
  policy::Route& route = impl->route;
  const bool events = rules.webhook.has_value();
  Result<policy::Expression> key_from = parsed("key_from", rules.key_from);
  Result<policy::Expression> scope = parsed("scope", rules.scope);
  Result<IgnoreList> ignore = IgnoreList::parse(rules.ignore);
  if (!key_from) return std::unexpected(std::move(key_from.error()));
  if (!scope) return std::unexpected(std::move(scope.error()));
  if (!ignore) return std::unexpected(std::move(ignore.error()));
  if (const auto space = make_key(rules.space, "", "any"); !space) return std::unexpected(space.error());
  if (events) route.target.keep = policy::keep_successes();
  for (const auto& [statuses, verdict] : rules.keep) {
    const auto set = route.target.keep.set(statuses, verdict);
    if (!set) return fail(Code::invalid, "keep: " + set.error().message);
  }
  route.methods = rules.methods;
  route.key = rules.key;
  route.key_from = *std::move(key_from);
  route.scope = *std::move(scope);
  route.space = rules.space;
  route.fingerprint = rules.fingerprint;
  route.ignore = *std::move(ignore);
  route.target.policy = rules.policy;
  route.target.replay_fields = rules.replay_fields;
  route.target.store_body_max = rules.store_body_max;
  impl->body_bytes_max = rules.body_bytes_max;
  impl->webhook = rules.webhook;
  impl->reply.problem_base = rules.problem_base;
  impl->reply.replayed_header = rules.replayed_header;
  impl->reply.docs_url = rules.docs_url;
  return Guard(std::move(impl));
}

namespace {

Task<Response> handled(Handler* handler) {
  const Fence unguarded;
  try {
    co_return co_await (*handler)(unguarded);
  } catch (...) {
    co_return failed_handler();
  }
}

Response handled(BlockingHandler& handler) {
  try {
    return handler(Fence{});
  } catch (...) {
    return failed_handler();
  }
}

}  // namespace

Task<Outcome> Guard::Impl::attempt(const Impl* rules, Handler* handler, std::optional<Response>* said, Fence fence) {
  *said = co_await (*handler)(fence);
  co_return rules->judge(**said);
}

Task<Response> Guard::Impl::run(std::shared_ptr<const Impl> impl, Once* once, HttpRequest request, Handler handler,
                                Probe probe) {
  Look look = impl->look(guard::view_of(request));
  if (auto* refusal = std::get_if<Response>(&look)) co_return std::move(*refusal);
  if (std::holds_alternative<Pass>(look)) {
    Response said = co_await handled(&handler);
    co_return impl->pass_on(std::move(said));
  }
  const auto& identity = std::get<policy::Identity>(look);
  std::optional<Response> said;
  Action act = [&impl, &handler, &said](Fence fence) { return attempt(impl.get(), &handler, &said, fence); };
  Answer answer = co_await once->run(identity.key, identity.fingerprint, impl->route.target.policy, std::move(act),
                                     std::move(probe));
  co_return impl->tell(std::move(answer), std::move(said));
}

Task<Response> Guard::run(Once& once, HttpRequest request, Handler handler, Probe probe) const {
  return Impl::run(impl_, &once, request, std::move(handler), std::move(probe));
}

Response Guard::run(BlockingRunner once, HttpRequest request, BlockingHandler handler) const {
  Look look = impl_->look(guard::view_of(request));
  if (auto* refusal = std::get_if<Response>(&look)) return std::move(*refusal);
  if (std::holds_alternative<Pass>(look)) return impl_->pass_on(handled(handler));
  const auto& identity = std::get<policy::Identity>(look);
  std::optional<Response> said;
  const auto act = [&](Fence fence) {
    said = handler(fence);
    return impl_->judge(*said);
  };
  Answer answer = once(identity.key, identity.fingerprint, impl_->route.target.policy, act);
  return impl_->tell(std::move(answer), std::move(said));
}

Response Guard::run(BlockingOnce& once, HttpRequest request, BlockingHandler handler, BlockingProbe probe) const {
  BlockingRunner by_once = [&](Key key, Fingerprint fingerprint, Policy policy, BlockingAction action) {
    return once.run(std::move(key), fingerprint, policy, std::move(action), std::move(probe));
  };
  return run(std::move(by_once), request, std::move(handler));
}

}  // namespace semel
