#include "store/history.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/encoding.h"
#include "core/seal.h"
#include "store/identity.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store {
namespace {

constexpr std::size_t seal_bytes_max = 1'024;  // what encryption may have added to a value

template <class Number>
std::optional<Number> number_of(std::string_view digits) {
  const std::string text(digits);
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end ? std::optional(number) : std::nullopt;
}

std::uint64_t random_number() {
  const core::Salt salt = random_salt();
  std::uint64_t number = 0;
  std::memcpy(&number, salt.data(), sizeof(number));
  return number;
}

}  // namespace

std::string to_history_cursor(const HistoryPlace& place) {
  return std::to_string(place.at.time_since_epoch().count()) + "." + std::to_string(place.number) + "." +
         core::to_hex(std::string_view(place.subject));
}

std::optional<HistoryPlace> from_history_cursor(std::string_view cursor) {
  const std::size_t first = cursor.find('.');
  const std::size_t second = first == std::string_view::npos ? first : cursor.find('.', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto at = number_of<std::int64_t>(cursor.substr(0, first));
  const auto number = number_of<std::uint64_t>(cursor.substr(first + 1, second - first - 1));
  std::optional<std::string> subject = core::from_hex(cursor.substr(second + 1));
  if (!at || !number || !subject || subject->size() > history_subject_bytes_max) return std::nullopt;
  return HistoryPlace{.subject = *std::move(subject), .at = Time{Millis{*at}}, .number = *number};
}

Result<std::vector<HistoryRow>> prepared_rows(std::vector<HistoryRow> rows) {
  if (rows.size() > history_rows_max) return fail(Code::invalid, "history: too many rows in one call");
  std::size_t bytes = 0;
  std::uint64_t random = 0;
  for (HistoryRow& row : rows) {
    bytes += row.subject.size() + row.value.size();
    if (row.subject.size() > history_subject_bytes_max || bytes > history_call_bytes_max ||
        row.value.size() > history_value_bytes_max + seal_bytes_max) {
      return fail(Code::invalid, "history: a row is too large, or the rows of one call are");
    }
    if (row.at < Time{}) return fail(Code::invalid, "history: a row is older than 1970");
    if (row.number != 0) continue;
    if (random == 0) random = random_number();
    row.number = ++random == 0 ? ++random : random;
  }
  return rows;
}

}  // namespace semel::store
