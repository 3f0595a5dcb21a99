#include "store/embedded/history_key.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "store/history.h"
#include <semel/clock.h>

namespace semel::store::embedded {
namespace {

constexpr std::size_t day_bytes = 4;
constexpr std::size_t number_bytes = 8;
constexpr std::size_t head_bytes = 1 + day_bytes + 1;
constexpr std::uint64_t sign = std::uint64_t{1} << 63U;  // so that times before 1970 come first
constexpr std::uint64_t day_sign = std::uint64_t{1} << 31U;

// The highest byte first.
void put(std::string& out, std::uint64_t number, std::size_t bytes) {
  for (std::size_t i = bytes; i > 0; --i) out.push_back(static_cast<char>((number >> (8 * (i - 1))) & 0xFFU));
}

std::uint64_t take(std::string_view bytes) {
  std::uint64_t number = 0;
  for (const char byte : bytes) number = (number << 8U) | static_cast<std::uint8_t>(byte);
  return number;
}

}  // namespace

std::string history_day_key(HistoryKind kind, std::int64_t day) {
  std::string key(1, static_cast<char>(kind));
  const std::int64_t held =
      std::clamp<std::int64_t>(day, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max());
  put(key, (static_cast<std::uint64_t>(held) ^ day_sign) & 0xFFFF'FFFFU, day_bytes);
  return key;
}

std::string history_subject_key(HistoryKind kind, std::int64_t day, std::string_view subject) {
  std::string key = history_day_key(kind, day);
  key.push_back(static_cast<char>(subject.size()));
  return key.append(subject);
}

std::string history_key(HistoryKind kind, const HistoryPlace& place) {
  std::string key = history_subject_key(kind, history_day(place.at), place.subject);
  put(key, static_cast<std::uint64_t>(place.at.time_since_epoch().count()) ^ sign, number_bytes);
  put(key, place.number, number_bytes);
  return key;
}

std::optional<ParsedHistoryKey> parse_history_key(HistoryKind kind, std::string_view key) {
  if (key.size() < head_bytes || key[0] != static_cast<char>(kind)) return std::nullopt;
  const auto subject_bytes = static_cast<std::uint8_t>(key[1 + day_bytes]);
  if (key.size() != head_bytes + subject_bytes + (2 * number_bytes)) return std::nullopt;
  const std::string_view tail = key.substr(head_bytes + subject_bytes);
  const auto millis = static_cast<std::int64_t>(take(tail.substr(0, number_bytes)) ^ sign);
  ParsedHistoryKey parsed;
  parsed.day = static_cast<std::int32_t>(static_cast<std::uint32_t>(take(key.substr(1, day_bytes)) ^ day_sign));
  parsed.place = {.subject = std::string(key.substr(head_bytes, subject_bytes)),
                  .at = Time{Millis{millis}},
                  .number = take(tail.substr(number_bytes))};
  return parsed;
}

}  // namespace semel::store::embedded
