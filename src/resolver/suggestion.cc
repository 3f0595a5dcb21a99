// A suggestion as JSON. Bytes of an answer are base64, because they may be anything.
#include "resolver/suggestion.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>

#include "core/encoding.h"
#include "core/json/writer.h"
#include "resolver/ruling.h"
#include "store/history.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::resolver {
namespace {

namespace json = boost::json;

constexpr std::string_view answer_left_out =
    "; its body is over 256 KiB, so the suggestion does not have it: give it when you settle the key, or let the "
    "resolver apply what it finds";
constexpr std::size_t rows_max = 16;
constexpr std::array rulings{RulingKind::ask_again, RulingKind::done, RulingKind::not_done, RulingKind::person};

// Tells the rows of two attempts that were claimed in one millisecond apart.
std::uint64_t number_of(const Record& record) {
  return std::max<std::uint64_t>(record.fence.owner, 1);
}

std::string_view text_in(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

std::int64_t number_in(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

void write_answer(core::json::JsonWriter& writer, const Response& answer) {
  writer.name("answer").begin_object().number("status", answer.status).boolean("kept", answer.body_kept);
  writer.text("body", core::to_base64(answer.body)).name("fields").begin_array();
  for (const Field& field : answer.fields) {
    writer.begin_object().text("name", core::to_base64(field.name));
    writer.text("value", core::to_base64(field.value)).end_object();
  }
  writer.end_array().end_object();
}

SharedResponse answer_in(const json::object& object) {
  const json::value* const value = object.if_contains("answer");
  if (value == nullptr || !value->is_object()) return nullptr;
  const json::object& given = value->get_object();
  auto answer = std::make_shared<Response>();
  answer->status = static_cast<std::uint16_t>(number_in(given, "status"));
  answer->body = core::from_base64(text_in(given, "body")).value_or("");
  const json::value* const kept = given.if_contains("kept");
  answer->body_kept = kept != nullptr && kept->is_bool() && kept->get_bool();
  const json::value* const fields = given.if_contains("fields");
  if (fields == nullptr || !fields->is_array()) return nullptr;
  for (const json::value& each : fields->get_array()) {
    if (!each.is_object()) return nullptr;
    answer->fields.push_back({.name = core::from_base64(text_in(each.get_object(), "name")).value_or(""),
                              .value = core::from_base64(text_in(each.get_object(), "value")).value_or("")});
  }
  return answer;
}

}  // namespace

store::HistoryRow to_row(const Suggestion& suggestion, const Record& record) {
  const Digest& id = record.key.id;
  store::HistoryRow row{.kind = store::HistoryKind::suggestion,
                        .subject = {id.begin(), id.end()},
                        .at = record.claimed_at,
                        .value = {},
                        .number = number_of(record)};
  core::json::JsonWriter writer(row.value);
  writer.begin_object().number("fence", record.fence.number).text("ruling", name_of(suggestion.ruling));
  const SharedResponse& answer = suggestion.answer;
  const bool too_large = answer != nullptr && answer->body.size() > suggested_body_bytes_max;
  writer.bytes("why", too_large ? suggestion.why + std::string(answer_left_out) : suggestion.why);
  writer.bytes("route", suggestion.route).bytes("node", suggestion.node);
  writer.number("asked_at", suggestion.asked_at.time_since_epoch().count()).number("asks", suggestion.asks);
  writer.number("watched_ms", suggestion.watched.count()).boolean("seen", suggestion.seen);
  if (answer != nullptr && !too_large) write_answer(writer, *answer);
  writer.end_object();
  return row;
}

std::optional<Suggestion> suggestion_in(const store::HistoryRow& row, const Record& record) {
  if (row.kind != store::HistoryKind::suggestion || row.number != number_of(record)) return std::nullopt;
  boost::system::error_code error;
  const json::value value = json::parse(row.value, error);
  if (error || !value.is_object()) return std::nullopt;
  const json::object& object = value.get_object();
  if (number_in(object, "fence") != static_cast<std::int64_t>(record.fence.number)) return std::nullopt;
  const std::string_view name = text_in(object, "ruling");
  const auto* const ruling = std::ranges::find(rulings, name, name_of);
  if (ruling == rulings.end()) return std::nullopt;
  const json::value* const seen = object.if_contains("seen");
  return Suggestion{.ruling = *ruling,
                    .why = std::string(text_in(object, "why")),
                    .route = std::string(text_in(object, "route")),
                    .node = std::string(text_in(object, "node")),
                    .asked_at = Time{Millis{number_in(object, "asked_at")}},
                    .asks = static_cast<std::uint32_t>(number_in(object, "asks")),
                    .watched = Millis{number_in(object, "watched_ms")},
                    .seen = seen != nullptr && seen->is_bool() && seen->get_bool(),
                    .answer = answer_in(object)};
}

Async<std::optional<Suggestion>> find_suggestion(store::History* history, Record record) {
  const Digest& id = record.key.id;
  std::string subject(id.begin(), id.end());
  const store::HistorySpan span{.from = record.claimed_at, .to = record.claimed_at + Millis{1}};
  const Result<std::vector<store::HistoryRow>> rows =
      co_await history->read(store::HistoryKind::suggestion, std::move(subject), span, rows_max);
  if (!rows) co_return std::unexpected(rows.error());
  for (const store::HistoryRow& row : *rows) {
    if (std::optional<Suggestion> found = suggestion_in(row, record)) co_return found;
  }
  co_return std::optional<Suggestion>();
}

}  // namespace semel::resolver
