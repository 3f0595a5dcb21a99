#include "store/cursor.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "core/encoding.h"
#include <semel/clock.h>

namespace semel::store {

std::string to_cursor(const ListPlace& place) {
  return std::to_string(place.at.time_since_epoch().count()) + "." + core::to_hex(place.id);
}

std::optional<ListPlace> from_cursor(std::string_view cursor) {
  const std::size_t dot = cursor.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string time(cursor.substr(0, dot));
  std::int64_t millis = 0;
  const char* const until = time.data() + time.size();
  const auto [end, error] = std::from_chars(time.data(), until, millis);
  if (error != std::errc() || end != until) return std::nullopt;
  const std::optional<std::string> id = core::from_hex(cursor.substr(dot + 1));
  ListPlace place{.at = Time{Millis{millis}}};
  if (!id || id->size() != place.id.size()) return std::nullopt;
  std::ranges::copy(*id, place.id.begin());
  return place;
}

}  // namespace semel::store
