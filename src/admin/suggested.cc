#include "admin/suggested.h"

#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "admin/answers.h"
#include "admin/desk_request.h"
#include "admin/sources.h"
#include "core/json/writer.h"
#include "gateway/logged_act.h"
#include "policy/request_view.h"
#include "resolver/ruling.h"
#include "resolver/suggestion.h"
#include "store/desk.h"
#include <semel/async.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::admin {

Task<std::optional<resolver::Suggestion>> suggestion_for(const Sources* sources, const Held* held) {
  const bool wanted = sources->history != nullptr && held->record.state == Record::State::unknown;
  if (!wanted || sources->config()->resolvers.empty()) co_return std::nullopt;
  Record record = held->record;
  Result<std::optional<resolver::Suggestion>> found =
      co_await resolver::find_suggestion(sources->history, std::move(record));
  if (!found) co_return std::nullopt;
  co_return *std::move(found);
}

void write_suggestion(core::json::JsonWriter& json, const resolver::Suggestion& suggestion) {
  json.name("suggestion").begin_object().text("as", resolver::name_of(suggestion.ruling));
  json.bytes("why", suggestion.why).bytes("route", suggestion.route).bytes("by", suggestion.node);
  json.text("asked_at", gateway::time_text(suggestion.asked_at)).number("asks", suggestion.asks);
  json.number("watched_ms", suggestion.watched.count());
  if (suggestion.answer != nullptr) {
    json.name("answer").begin_object().number("status", suggestion.answer->status);
    json.number("body_bytes", suggestion.answer->body.size()).end_object();
  }
  json.end_object();
}

Task<std::expected<SharedResponse, Response>> answer_of_suggestion(const Sources* sources,
                                                                   policy::RequestView request) {
  if (sources->desk == nullptr) co_return std::unexpected(error_answer(501, "this store has no desk"));
  const std::optional<std::string> id = id_in(request);
  if (!id || !whole_id(*id)) co_return std::unexpected(error_answer(400, "id: must be the whole id, 64 digits"));
  const Result<std::vector<Held>> found = co_await sources->desk->find(*id, 1);
  if (!found) co_return std::unexpected(error_answer(503, found.error().detail));
  if (found->empty()) {
    co_return std::unexpected(error_answer(404, "there is no key with this id; keys that have expired are gone"));
  }
  const std::optional<resolver::Suggestion> suggestion = co_await suggestion_for(sources, &found->front());
  if (!suggestion || suggestion->ruling != resolver::RulingKind::done) {
    co_return std::unexpected(error_answer(409, "nothing was done: no resolver suggests an answer for this attempt"));
  }
  if (suggestion->answer == nullptr) {
    co_return std::unexpected(
        error_answer(409, "nothing was done: the answer is over 256 KiB, and a suggestion does not have it; give it"));
  }
  co_return suggestion->answer;
}

}  // namespace semel::admin
