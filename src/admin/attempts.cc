#include "admin/attempts.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>

#include "admin/key_json.h"
#include "admin/sources.h"
#include "core/json/writer.h"
#include "store/history.h"
#include "store/inbox.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::admin {
namespace {

constexpr std::size_t rows_max = 500;  // of each kind
constexpr std::chrono::days kept{30};
constexpr Millis clocks_differ{60'000};  // at most: the store's and those of the gateways

}  // namespace

Task<void> write_attempts(const Sources* sources, const store::AcceptedEvent* event, core::json::JsonWriter* json) {
  std::vector<store::HistoryRow> all;
  bool partial = false;
  const Time now = sources->now();
  const store::HistorySpan span{.from = std::max(event->id.accepted_at() - clocks_differ, now - kept),
                                .to = now + std::chrono::days{1}};
  for (const store::HistoryKind kind : {store::HistoryKind::plain_run, store::HistoryKind::attempt}) {
    if (sources->history == nullptr) break;
    std::string subject(event->id.view());
    Result<std::vector<store::HistoryRow>> rows =
        co_await sources->history->read(kind, std::move(subject), span, rows_max);
    partial = partial || !rows || rows->size() >= rows_max;
    if (!rows) continue;
    for (store::HistoryRow& row : *rows) all.push_back(std::move(row));
  }
  std::ranges::sort(all, {}, [](const store::HistoryRow& row) { return std::pair(row.at, row.number); });
  json->name("attempts").begin_array();
  for (const store::HistoryRow& row : all) {
    boost::system::error_code error;
    boost::json::value value = boost::json::parse(row.value, error);
    if (error || !value.is_object()) continue;
    value.get_object()["at"] = time_text(row.at);
    json->verbatim(boost::json::serialize(value));
  }
  json->end_array().boolean("attempts_partial", partial);
}

}  // namespace semel::admin
